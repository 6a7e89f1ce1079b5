/**
 * Adds to package-lock.json what npm leaves out of it: packages for other platforms that the
 * registry did not have when the lock file was made. `npm ci` of a later day, on a registry that has
 * them, would refuse the file without them. Their versions are the ones that their dependants name;
 * platform and processor follow from their names. Run it after each `npm install <package>`.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const path = process.argv[2] ?? 'package-lock.json';
const lock = JSON.parse(readFileSync(path, 'utf8'));
const { packages } = lock;
let added = 0;

for (const [at, entry] of Object.entries(packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isInstalledFor(at, name)) continue;
    packages[`node_modules/${name}`] = entryFor(name, version, entry.dev === true);
    added++;
  }
}
lock.packages = Object.fromEntries(
  Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en')),
);
if (added > 0) writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${added} packages of other platforms added\n`);

/** As Node finds packages: beside, and then further up. */
function isInstalledFor(at, name) {
  for (let folder = at; ; ) {
    if (packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`]) return true;
    if (folder === '') return false;
    const up = folder.lastIndexOf('/node_modules/');
    folder = up < 0 ? '' : folder.slice(0, up);
  }
}

function entryFor(name, version, dev) {
  const os = /(android|darwin|freebsd|linux|win32)/.exec(name)?.[1];
  const cpu = /(arm64|x64|ia32|arm|ppc64|riscv64|s390x)\b/.exec(name)?.[1];
  if (os === undefined || cpu === undefined || !/^\d+\.\d+\.\d+/.test(version)) {
    throw new Error(`${name}@${version}: its platform can't be told from its name`);
  }
  const libc = name.endsWith('-musl') ? { libc: ['musl'] } : {};
  return { version, cpu: [cpu], ...(dev ? { dev } : {}), ...libc, optional: true, os: [os] };
}
