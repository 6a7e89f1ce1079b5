/**
 * The samples of the documentation, as a reader copies them: each fenced block under its heading,
 * with a test server's address where the published page has the service's, run as it stands. A
 * test file takes every sample of its languages, so a new sample without a test fails it.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { spawn } from '../house/spawn.ts';

export interface Sample {
  /** Such as `docs/API.md, GET check`: the file and the nearest heading above. */
  readonly place: string;
  readonly language: string;
  readonly code: string;
}

export interface Samples {
  readonly all: readonly Sample[];
  /** The code of the one sample here that holds this text; it counts as tested. */
  take(place: string, language: string, containing?: string): string;
  /** Places of the samples that nothing took. */
  left(): string[];
}

function documentFiles(): string[] {
  const inside = (folder: string) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`);
  return [...inside('docs'), ...inside('docs/site'), 'README.md'];
}

export function samplesIn(file: string, text: string): Sample[] {
  const found: Sample[] = [];
  let heading = '';
  let open: { language: string; lines: string[] } | undefined;
  for (const line of text.split('\n')) {
    const fence = /^```(\w*)$/.exec(line);
    if (open === undefined) {
      heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading;
      if (fence !== null) open = { language: fence[1]!, lines: [] };
    } else if (fence === null) {
      open.lines.push(line);
    } else {
      const code = `${open.lines.join('\n')}\n`;
      found.push({ place: `${file}, ${heading}`, language: open.language, code });
      open = undefined;
    }
  }
  return found;
}

export function openSamples(languages: readonly string[]): Samples {
  const all = documentFiles()
    .flatMap((file) => samplesIn(file, readFileSync(file, 'utf8')))
    .filter(({ language }) => languages.includes(language));
  const taken = new Set<Sample>();
  return {
    all,
    take(place, language, containing = '') {
      const fitting = all.filter(
        (one) => one.place === place && one.language === language && one.code.includes(containing),
      );
      if (fitting.length !== 1) {
        throw new Error(`${fitting.length} ${language} samples at '${place}' have '${containing}'`);
      }
      taken.add(fitting[0]!);
      return fitting[0]!.code;
    },
    left: () => all.filter((one) => !taken.has(one)).map((one) => `${one.place}: ${one.language}`),
  };
}

/** The code as the page of a server at this address shows it. */
export function publishedAt(baseUrl: string, code: string): string {
  return code.replaceAll(
    /\{(?:base|secure)_url\}|http:\/\/(?:localhost|127\.0\.0\.1):8080/g,
    baseUrl,
  );
}

export interface Ran {
  readonly status: number | null;
  /** Standard output and error, in the order in which they came. */
  readonly output: string;
}

/** A sample that hangs is ended and fails by its status. */
const runMsMax = 300_000;

export function runCode(
  command: string,
  args: readonly string[],
  options: { input?: string; env?: Readonly<Record<string, string>>; cwd?: string } = {},
): Promise<Ran> {
  const { input = '', env = {}, cwd } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH ?? '', ...env },
      timeout: runMsMax,
      ...(cwd === undefined ? {} : { cwd }),
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += String(chunk);
      });
    }
    child.on('error', reject);
    child.on('close', (status) => resolve({ status, output: output.trim() }));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}
