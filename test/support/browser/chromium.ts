/**
 * A Chromium to test with, from the npm registry alone: unpacks the archives of
 * `@sparticuz/chromium` once per version into the temporary folder. Unpacking goes to a folder
 * of its own and is published by one rename, so parallel test processes never see half a browser.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

export interface Chromium {
  readonly executablePath: string;
  /** Added to the browser's environment: its own libraries and fonts, for a machine with neither. */
  readonly env: Record<string, string>;
}

const tarBlockBytes = 512;

/** Writes the regular files of an uncompressed ustar archive below `folder`. Throws on a name that leaves it. */
function unpackTar(archive: Buffer, folder: string): void {
  let at = 0;
  while (at + tarBlockBytes <= archive.length) {
    const header = archive.subarray(at, at + tarBlockBytes);
    const name = header.toString('latin1', 0, 100).replace(/\0.*$/s, '');
    if (name === '') return; // two empty blocks end an archive
    const sizeBytes = Number.parseInt(header.toString('latin1', 124, 136), 8);
    if (!Number.isSafeInteger(sizeBytes)) throw new Error(`bad tar header at byte ${at}`);
    const kind = header.toString('latin1', 156, 157);
    at += tarBlockBytes;
    if (kind === '0' || kind === '\0') {
      const target = resolve(folder, name);
      if (!target.startsWith(folder + sep)) throw new Error(`tar entry leaves its folder: ${name}`);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, archive.subarray(at, at + sizeBytes), { mode: 0o755 });
    }
    at += Math.ceil(sizeBytes / tarBlockBytes) * tarBlockBytes;
  }
}

function fontsConfig(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, 'font-cache')}</cachedir>
</fontconfig>
`;
}

function unpackInto(folder: string, binFolder: string, finalFolder: string): void {
  const archive = (name: string) => brotliDecompressSync(readFileSync(join(binFolder, name)));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  unpackTar(archive('al2023.tar.br'), folder);
  unpackTar(archive('fonts.tar.br'), folder);
  unpackTar(archive('swiftshader.tar.br'), folder);
  writeFileSync(join(folder, 'chromium'), archive('chromium.br'), { mode: 0o700 });
  writeFileSync(join(folder, 'fonts.conf'), fontsConfig(finalFolder));
}

/** Unpacks on first use (a few seconds), afterwards only looks. */
export function findChromium(): Chromium {
  const packageFolder = dirname(
    dirname(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))),
  );
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const uid = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `portcullis-chromium-${version}-${uid}`);
  if (!existsSync(join(folder, 'chromium'))) {
    const staging = `${folder}.${randomBytes(6).toString('hex')}`;
    try {
      unpackInto(staging, join(packageFolder, 'bin'), folder);
      renameSync(staging, folder);
    } catch (error) {
      // Another process may have been first: its folder is as good as ours.
      if (!existsSync(join(folder, 'chromium'))) throw error;
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  }
  return {
    executablePath: join(folder, 'chromium'),
    env: {
      LD_LIBRARY_PATH: join(folder, 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
  };
}
