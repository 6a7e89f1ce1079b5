#!/usr/bin/env node
/** Entry of the `portcullis` command: the compiled CLI. `npm install` makes it, and `npm run build:server`. */
import { existsSync } from 'node:fs';

const compiled = new URL('../dist/src/cli.js', import.meta.url);
if (!existsSync(compiled)) {
  process.stderr.write('portcullis: not built yet; run `npm run build:server` first\n');
  process.exit(1);
}
await import(compiled.href);
