# The images of Moli: docker build --target gateway|executor|courier|sandbox -t moli/<name> .
# Ordinary syntax, so that docker, podman and buildah build it alike. All of them at once: infra/images/README.md.

ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

# The manifests alone: the layer with the installed packages is made anew only when one of them changes.
FROM ${NODE_IMAGE} AS manifests
WORKDIR /src
COPY . .
RUN find . -type f ! -name package.json ! -name package-lock.json ! -name .npmrc -delete && find . -type d -empty -delete

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY --from=manifests /src .
# Without install scripts: no package that the services need has one, and none runs code of strangers in the build.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
# The commit that `GET /version` tells; the build context has no .git.
ARG MOLI_COMMIT=unknown
RUN npm run build --workspace=@moli/gateway --workspace=@moli/executor --workspace=@moli/web
RUN node infra/images/assemble.ts /out

# The C and C++ libraries that Node needs. No shell, no npm: what is not there can't be misused.
FROM ${DEBIAN_IMAGE} AS node-root
COPY infra/images/pick-root.sh /build/
RUN sh /build/pick-root.sh /out libstdc++6

FROM scratch AS node-runtime
COPY --from=node-root /out /
COPY --from=build /usr/local/bin/node /usr/local/bin/node
ENV PATH=/usr/local/bin:/usr/bin NODE_ENV=production LANG=C.UTF-8
WORKDIR /app
STOPSIGNAL SIGTERM

FROM node-runtime AS gateway
COPY --from=build /out/gateway /app
# A young generation of 4 MiB instead of 16: 10 to 20 MB less at rest.
ENV NODE_OPTIONS=--max-semi-space-size=16 MOLI_HOST=0.0.0.0 MOLI_PORT=8000 MOLI_WEB_DIR=/app/services/web/dist
USER 10000:10000
EXPOSE 8000
ENTRYPOINT ["/usr/local/bin/node", "/app/services/gateway/dist/main.js"]
ARG MOLI_COMMIT=unknown
ARG MOLI_VERSION=0.0.0
LABEL org.opencontainers.image.title="Moli gateway" \
      org.opencontainers.image.description="The public door of Moli: API, sessions, turns, web workbench" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${MOLI_VERSION}" \
      org.opencontainers.image.revision="${MOLI_COMMIT}"

FROM node-runtime AS executor
COPY --from=build /out/executor /app
# Small generations: a flood of output is collected as it passes. 96 MiB and 8 for the result of each of 20 runs at once.
ENV NODE_OPTIONS="--max-semi-space-size=2 --max-old-space-size=256" \
    MOLI_RUNNER=kubernetes MOLI_EXECUTOR_HOST=0.0.0.0 MOLI_EXECUTOR_PORT=8100 MOLI_COURIER_PORT=9443
USER 10000:10000
EXPOSE 8100 9443
ENTRYPOINT ["/usr/local/bin/node", "/app/services/executor/dist/main.js"]
ARG MOLI_COMMIT=unknown
ARG MOLI_VERSION=0.0.0
LABEL org.opencontainers.image.title="Moli executor" \
      org.opencontainers.image.description="Takes the runs of Moli from the queue and gives each a sandbox" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${MOLI_VERSION}" \
      org.opencontainers.image.revision="${MOLI_COMMIT}"

FROM node-runtime AS courier
COPY --from=build /out/courier /app
# It waits most of its life, once a warm Pod: 1 MiB for young objects, one helper thread, one arena, and more than enough for the one run that it
# carries.
ENV NODE_OPTIONS="--max-semi-space-size=1 --max-old-space-size=64 --v8-pool-size=1" MALLOC_ARENA_MAX=1
# The group of the sandbox, whose socket it opens.
USER 10002:10001
ENTRYPOINT ["/usr/local/bin/node", "/app/courier.cjs"]
ARG MOLI_COMMIT=unknown
ARG MOLI_VERSION=0.0.0
LABEL org.opencontainers.image.title="Moli courier" \
      org.opencontainers.image.description="Carries files and output between one sandbox and the executor" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${MOLI_VERSION}" \
      org.opencontainers.image.revision="${MOLI_COMMIT}"

FROM ${DEBIAN_IMAGE} AS sandbox-root
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv fonts-noto-cjk fonts-symbola
COPY sandbox/install.py sandbox/requirements.txt infra/images/pick-root.sh /build/
# The environment as on one machine: pinned wheels, each checked against its hash. It is moved to a name without a key, and pip goes,
# and so do the packages' own tests, a fifth of it. Everything is imported once more after that.
RUN python=$(/usr/bin/python3 /build/install.py --cache /build/environments --only wheels) \
    && mkdir -p /opt/moli && mv "${python%/bin/python}" /opt/moli/python \
    && rm -rf /opt/moli/python/lib/python3*/site-packages/pip /opt/moli/python/lib/python3*/site-packages/pip-* \
    && find /opt/moli/python/lib -type d -name tests -prune -exec rm -rf {} + \
    && cd /build && python3 -c 'import install; missing = install.prove("/opt/moli/python")["missing"]; assert not missing, missing'
# Debian compiles its library when it is installed. By hash instead of by time, so that the same source gives the same image.
RUN sh /build/pick-root.sh /out python3 fonts-noto-cjk fonts-symbola libc-bin libstdc++6 \
    && python3 -m compileall -q -s /out -p / --invalidation-mode unchecked-hash /out/usr/lib/python3*/
# A Pod starts for one run and could not keep what it compiles: 0.2 s of processor time each.
COPY sandbox /opt/moli/sandbox
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/moli/sandbox

FROM scratch AS sandbox
COPY --from=sandbox-root /out /
COPY --from=sandbox-root /opt/moli/python /opt/moli/python
COPY --from=sandbox-root /opt/moli/sandbox /opt/moli/sandbox
ENV PATH=/usr/bin LANG=C.UTF-8
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["/usr/bin/python3", "-I", "/opt/moli/sandbox/box.py", "--python", "/opt/moli/python/bin/python"]
CMD ["--probe"]
ARG MOLI_COMMIT=unknown
ARG MOLI_VERSION=0.0.0
LABEL org.opencontainers.image.title="Moli sandbox" \
      org.opencontainers.image.description="Runs Python that nobody has read; each Pod runs one program, once" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${MOLI_VERSION}" \
      org.opencontainers.image.revision="${MOLI_COMMIT}"
