# Tiltyard on the CPU:
#   docker build -t tiltyard .
#   docker run --rm --user "$(id -u)" -v "$PWD/runs:/tiltyard/runs" tiltyard train --env tiltyard/Hopper-v5 --agent sac
FROM python:3.11-slim

# What MuJoCo draws with, without a screen.
RUN apt-get update && apt-get install -y --no-install-recommends libegl1 libgl1-mesa-dri && rm -rf /var/lib/apt/lists/*

WORKDIR /source
COPY requirements.lock ./
# PyTorch's default wheels bring CUDA, several gigabytes; with --build-arg PIP_EXTRA_INDEX_URL=<its CPU wheels> they do not.
ARG PIP_EXTRA_INDEX_URL=
RUN pip install --no-cache-dir "$(grep ^torch== requirements.lock)"
COPY . .
RUN pip install --no-cache-dir -c requirements.lock .

# Whoever runs it, what is compiled and drawn is kept where anybody may write.
ENV NUMBA_CACHE_DIR=/tmp/numba MPLCONFIGDIR=/tmp/matplotlib PYTHONUNBUFFERED=1
RUN useradd --create-home tiltyard && mkdir /tiltyard && chown tiltyard /tiltyard
USER tiltyard
WORKDIR /tiltyard
ENTRYPOINT ["tiltyard"]
CMD ["--help"]
