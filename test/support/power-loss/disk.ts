/**
 * What a disk holds when the power goes: made of a recording, step by step. Stricter than most file
 * systems: a file's bytes are safe by a sync of the file alone, its name by a sync of its folder alone,
 * and of what was not synced each sector of 512 bytes is there or is not, in any mixture.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Step } from './recording.ts';

const sectorBytes = 512;

/** What of the unsynced is on the disk: none of it, or each piece by the toss of a coin. */
type Survivors = 'none' | { readonly toss: () => boolean };

interface Change {
  readonly order: number;
  readonly at: number;
  /** Undefined: the file got the length `at`. */
  readonly bytes: Buffer | undefined;
}

interface NameChange {
  readonly order: number;
  readonly folder: string;
  apply(names: Map<string, number>): void;
}

/** Stands for a folder in the table of names. */
const folderMarker = 0;

export class Disk {
  readonly #root: string;
  readonly #safe = new Map<number, Buffer>();
  readonly #unsafe = new Map<number, Change[]>();
  readonly #safeNames = new Map<string, number>();
  /** As the program sees them. */
  readonly #names = new Map<string, number>();
  readonly #unsafeNames: NameChange[] = [];
  readonly #paths = new Map<number, string>();
  readonly #syncs = new Map<number, number>();
  #order = 0;

  /** @param root the folder that was recorded; it is there and safe */
  constructor(root: string) {
    this.#root = root;
    this.#safeNames.set(root, folderMarker);
  }

  apply({ kind, file, number, bytes }: Step): void {
    const order = ++this.#order;
    const [path = '', to = ''] = kind === 'W' || kind === 'D' ? [] : bytes.toString().split('\0');
    const name = (target: string, apply: NameChange['apply']) => {
      apply(this.#names);
      this.#unsafeNames.push({ order, folder: dirname(target), apply });
    };
    if (kind === 'O') {
      this.#paths.set(file, path);
      if (number === 1) name(path, (names) => names.set(path, file));
    } else if (kind === 'W') this.#change(file, { order, at: number, bytes });
    else if (kind === 'D') this.#safe.set(file, changed(this.#bytesOf(file), number, bytes));
    else if (kind === 'T') this.#change(file, { order, at: number, bytes: undefined });
    else if (kind === 'B') this.#syncs.set(number, order);
    else if (kind === 'E') this.#sync(file, this.#syncs.get(number)!);
    else if (kind === 'M') name(path, (names) => names.set(path, folderMarker));
    else if (kind === 'U') name(path, (names) => names.delete(path));
    else if (kind === 'L') {
      const linked = this.#names.get(path)!;
      name(to, (names) => names.set(to, linked));
    } else if (kind === 'R') {
      const moved = this.#names.get(path)!;
      // One step of the folder that it goes to: a name is never lost by a rename.
      name(to, (names) => {
        names.delete(path);
        names.set(to, moved);
        if (moved === folderMarker) moveBelow(names, path, to);
      });
    } else if (kind !== 'A') throw new Error(`unknown record ${kind}`);
  }

  /** Writes what is there after a power cut now into a folder. @returns names of files */
  writeTo(folder: string, survivors: Survivors): string[] {
    const keeps = survivors === 'none' ? () => false : survivors.toss;
    const names = new Map(this.#safeNames);
    // A file system writes names in order, up to some moment.
    for (const { apply } of this.#unsafeNames) {
      if (!keeps()) break;
      apply(names);
    }
    const written: string[] = [];
    for (const [path, file] of names) {
      if (file === folderMarker || !isReachable(names, path)) continue;
      const to = join(folder, relative(this.#root, path));
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, this.#content(file, keeps), { mode: 0o600 });
      written.push(relative(this.#root, path));
    }
    return written;
  }

  #bytesOf(file: number): Buffer {
    return this.#safe.get(file) ?? Buffer.alloc(0);
  }

  #change(file: number, change: Change): void {
    const list = this.#unsafe.get(file);
    if (list === undefined) this.#unsafe.set(file, [change]);
    else list.push(change);
  }

  /** What was done before the sync began is safe. */
  #sync(file: number, begun: number): void {
    const changes = this.#unsafe.get(file) ?? [];
    let content = this.#bytesOf(file);
    for (const { order, at, bytes } of changes) {
      if (order < begun) content = changed(content, at, bytes);
    }
    this.#safe.set(file, content);
    this.#unsafe.set(
      file,
      changes.filter(({ order }) => order >= begun),
    );
    const path = this.#paths.get(file)!;
    for (let i = 0; i < this.#unsafeNames.length; ) {
      const { order, folder, apply } = this.#unsafeNames[i]!;
      if (folder !== path || order >= begun) i++;
      else {
        apply(this.#safeNames);
        this.#unsafeNames.splice(i, 1);
      }
    }
  }

  #content(file: number, keeps: () => boolean): Buffer {
    let content: Buffer = Buffer.from(this.#bytesOf(file));
    for (const { at, bytes } of this.#unsafe.get(file) ?? []) {
      if (bytes === undefined) {
        if (keeps()) content = changed(content, at, undefined);
        continue;
      }
      for (let from = 0; from < bytes.length; ) {
        const end = Math.min(bytes.length, from + sectorBytes - ((at + from) % sectorBytes));
        if (keeps()) content = changed(content, at + from, bytes.subarray(from, end));
        from = end;
      }
    }
    return content;
  }
}

/** In place where the buffer has the room. */
function changed(content: Buffer, at: number, bytes: Buffer | undefined): Buffer {
  const length = bytes === undefined ? at : Math.max(content.length, at + bytes.length);
  let whole = content;
  if (length !== content.length) {
    whole = Buffer.alloc(length);
    content.copy(whole);
  }
  bytes?.copy(whole, at);
  return whole;
}

function isReachable(names: Map<string, number>, path: string): boolean {
  const folder = dirname(path);
  if (folder === path) return false;
  return names.has(folder) && (isTop(folder, names) || isReachable(names, folder));
}

/** The root's own folder is not recorded. */
function isTop(folder: string, names: Map<string, number>): boolean {
  return !names.has(dirname(folder));
}

function moveBelow(names: Map<string, number>, from: string, to: string): void {
  for (const [path, file] of [...names]) {
    if (!path.startsWith(`${from}/`)) continue;
    names.delete(path);
    names.set(to + path.slice(from.length), file);
  }
}
