/** Reads the project's own sources for tests about its structure: paths, texts, relative imports. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export interface Source {
  /** Path from the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Resolved paths of relative imports, worker entries named by `new URL('../x.js', import.meta.url)` included. */
  readonly imports: readonly string[];
  /** Imports without worker entries; those of types alone are among them. */
  readonly moduleImports: readonly string[];
  /** Those that are still there at run time: no `import type`, no worker entry. */
  readonly valueImports: readonly string[];
}

const valuePattern = /\b(?:import|export)\s+(?!type\b)(?:[^;']*?\bfrom\s+)?'(\.[^']+)'/g;
const fromPattern = /\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
const workerPattern = /new URL\(\s*'(\.[^']+\.js)',\s*import\.meta\.url/g;

/** Every TypeScript source below a folder of the project, in path order. */
export function readSources(folder: string): Source[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)).replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path) && !path.includes('/node_modules/'))
    .sort()
    .map((path) => {
      const text = readFileSync(path, 'utf8');
      const modules = [...text.matchAll(fromPattern)].map((m) => m[1]!);
      const found = [
        ...modules,
        ...[...text.matchAll(workerPattern)].map((m) => m[1]!.replace(/\.js$/, '.ts')),
      ];
      const resolved = (name: string) => normalize(join(dirname(path), name));
      const valueImports = [...text.matchAll(valuePattern)].map((m) => resolved(m[1]!));
      const moduleImports = modules.map(resolved);
      return { path, text, imports: found.map(resolved), moduleImports, valueImports };
    });
}
