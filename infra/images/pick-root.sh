#!/bin/sh
# pick-root.sh TARGET PACKAGE...: a root file system of these installed Debian packages and what they depend on, and of nothing else.
# An image made of it has no shell, no package manager and no program that could turn a fault into a foothold. dpkg's records of exactly
# these packages stay, so that vulnerability scanners know what is there.
set -eu
target=$1
shift

# Needed to install packages, not to run them.
left_out=' dpkg tar debconf install-info sensible-utils perl-base '

picked=
queue="base-files $*"
while [ -n "$queue" ]; do
  package=${queue%% *}
  queue=$(printf '%s' "${queue#"$package"}" | sed 's/^ *//')
  case "$left_out $picked " in *" $package "*) continue ;; esac
  # A name that is not installed is a virtual package, or an alternative that was not taken.
  needs=$(dpkg-query -W -f '${db:Status-Status}, ${Pre-Depends}, ${Depends}' "$package" 2>/dev/null) || continue
  case "$needs" in installed,*) ;; *) continue ;; esac
  picked="$picked $package"
  queue="$queue $(printf '%s' "${needs#installed,}" | tr ',|' '\n\n' | sed 's/^ *//; s/[ (:].*//' | grep . | tr '\n' ' ')"
  queue=$(printf '%s' "$queue" | sed 's/^ *//; s/ *$//')
done

mkdir -p "$target"
cd "$target"
mkdir -p etc proc sys dev run tmp var/tmp var/lib/dpkg usr/bin usr/sbin usr/lib usr/lib64
chmod 1777 tmp var/tmp
for link in bin sbin lib lib64; do ln -s "usr/$link" "$link"; done

# Folders of a package that is not picked stay out: only files are copied, with the folders that they are in.
# shellcheck disable=SC2086
dpkg-query -L $picked | sort -u | while read -r path; do
  if [ -L "$path" ] || [ -f "$path" ]; then printf '%s\n' "${path#/}"; fi
done >/tmp/picked-files
tar -C / --no-recursion -cf - -T /tmp/picked-files | tar --keep-directory-symlink -xf -
rm /tmp/picked-files
# shellcheck disable=SC2086
dpkg -s $picked >var/lib/dpkg/status
cp -P /etc/nsswitch.conf etc/
for name in localtime timezone; do if [ -e "/etc/$name" ]; then cp -P "/etc/$name" etc/; fi; done
# No program gives anyone more rights than he has.
find . -xdev -type f -perm /6000 -exec chmod ug-s {} +
ldconfig -r .

cat >etc/passwd <<'ACCOUNTS'
root:x:0:0:root:/root:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
moli:x:10000:10000:Moli:/nonexistent:/usr/sbin/nologin
sandbox:x:10001:10001:Moli sandbox:/nonexistent:/usr/sbin/nologin
courier:x:10002:10001:Moli courier:/nonexistent:/usr/sbin/nologin
ACCOUNTS
cat >etc/group <<'GROUPS'
root:x:0:
nogroup:x:65534:
moli:x:10000:
sandbox:x:10001:
GROUPS
