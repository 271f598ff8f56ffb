#!/bin/sh
# What the official image does at its first start, as far as the chart uses it: a cluster with POSTGRES_USER and POSTGRES_PASSWORD, the database
# POSTGRES_DB, password sign-in from everywhere. Other commands are run as they are.
set -eu
[ "${1:-postgres}" = postgres ] || exec "$@"
user=${POSTGRES_USER:-postgres}
database=${POSTGRES_DB:-$user}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${POSTGRES_PASSWORD:-}" ]; then
    echo 'Error: Database is uninitialized and superuser password is not specified. Set POSTGRES_PASSWORD.' >&2
    exit 1
  fi
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  password=$(mktemp)
  printf '%s\n' "$POSTGRES_PASSWORD" >"$password"
  # The variable holds several arguments.
  # shellcheck disable=SC2086
  initdb --username="$user" --pwfile="$password" --auth-local=trust --auth-host=scram-sha-256 ${POSTGRES_INITDB_ARGS:-}
  rm "$password"
  if [ "$database" != postgres ]; then echo "create database \"$database\"" | postgres --single -j -D "$PGDATA" postgres; fi
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
fi
shift || true
exec postgres -c 'listen_addresses=*' -c unix_socket_directories=/var/run/postgresql "$@"
