#!/bin/sh
# Makes what nodes on one PostgreSQL share: the master key, and a certificate for the database with its
# authority. `cluster-secrets.sh [folder] [name of the database's machine ...]`: ./secrets, `database`. What is
# there already stays, so that it can be run again. As root it gives the files to the users of the containers.
set -eu
folder=${1:-secrets}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- database
names=$(printf ',DNS:%s' "$@")
umask 077
mkdir -p "$folder"
cd "$folder"
[ -e master.key ] || openssl rand -hex 32 > master.key
if [ ! -e ca.pem ]; then
  openssl req -x509 -newkey rsa:3072 -nodes -days 3650 -subj '/CN=portcullis database authority' \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign \
    -keyout ca.key -out ca.pem 2>/dev/null
fi
if [ ! -e database.pem ]; then
  openssl req -new -newkey rsa:3072 -nodes -subj "/CN=$1" -keyout database.key -out database.csr 2>/dev/null
  printf 'subjectAltName=%s\n' "${names#,}" > database.ext
  openssl x509 -req -in database.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3650 \
    -extfile database.ext -out database.pem 2>/dev/null
  rm database.csr database.ext
fi
chmod 600 master.key ca.key database.key
chmod 644 ca.pem database.pem
if [ "$(id -u)" = 0 ]; then
  chown 1000:1000 master.key   # `node` in the image of Portcullis
  chown 999:999 database.key   # `postgres` in the image of PostgreSQL
  chmod 755 .
fi
echo "$(pwd): master.key, ca.pem, database.pem and database.key. Keep master.key and ca.key in a safe place too."
