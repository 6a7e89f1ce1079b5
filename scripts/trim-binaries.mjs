/**
 * Removes binaries that this system can't load from the two builds of the web server: each package
 * carries those of all platforms, 110 MB. Of the newer build every version of Node stays, so another
 * Node works in the same folder; of the older one Node 20 is all that is used. Part of
 * `npm install`; `npm ci` brings them back.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const own = `uws_${process.platform}_${process.arch}_`;
const kept = [
  ['uWebSockets.js', own],
  ['uws-older/binaries', `${own}115.`],
  ['uws-older/dist', undefined], // copies of those in binaries/
];

for (const [name, prefix] of kept) {
  const folder = join('node_modules', name);
  if (!existsSync(folder)) continue;
  for (const file of readdirSync(folder)) {
    if (!/^uws_\w+\.node$/.test(file)) continue;
    if (prefix === undefined || !file.startsWith(prefix)) rmSync(join(folder, file));
  }
}
