# The image of both roles. scripts/package writes the same one without Docker.
#
#   docker build --build-arg VERSION=v1.2.3 -t rancher/fleet:v1.2.3 -t rancher/fleet-agent:v1.2.3 .
ARG GO=1.26
FROM --platform=$BUILDPLATFORM golang:${GO} AS build
ARG VERSION=dev
ARG TARGETOS=linux
ARG TARGETARCH=amd64
WORKDIR /src
COPY go.mod go.sum ./
COPY pkg/apis/go.mod pkg/apis/go.sum pkg/apis/
RUN go mod download
COPY . .
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH VERSION=$VERSION scripts/build && mkdir /tmp/empty

FROM scratch
COPY --from=build /src/bin/ /usr/bin/
COPY --from=build --chmod=1777 /tmp/empty /tmp
ENV PATH=/usr/bin HOME=/tmp
USER 1000:1000
ENTRYPOINT ["fleet"]
