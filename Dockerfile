# docker build --build-arg EXTRAS=closed,bm25 -t fathoms .
# docker run --rm -v "$PWD:/work" --user "$(id -u):$(id -g)" -e OPENAI_API_KEY fathoms run configs/mine.yaml
FROM python:3.12-slim AS build
COPY . /source
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheel /source

FROM python:3.12-slim
# the extras to install, such as closed or embedded,llamaindex; none gives the smallest image
ARG EXTRAS=""
COPY requirements.lock /tmp/requirements.lock
COPY --from=build /wheel /tmp/wheel
RUN python -m pip install --no-cache-dir -c /tmp/requirements.lock "$(echo /tmp/wheel/*.whl)${EXTRAS:+[$EXTRAS]}" \
    && rm -r /tmp/wheel /tmp/requirements.lock \
    && useradd --uid 10001 --create-home fathoms \
    && install -d -m 1777 /work /state
# whatever user it runs as: the cache, the key that signs runs, and weights are in /state, which may be a volume
ENV HOME=/state \
    FATHOMS_CACHE_DIR=/state/cache \
    FATHOMS_KEY_FILE=/state/signing.key \
    MPLCONFIGDIR=/state/matplotlib \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /work
ENTRYPOINT ["fathoms"]
CMD ["--help"]
