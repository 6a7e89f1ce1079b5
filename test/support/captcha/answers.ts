/**
 * Answers of the pictures that test servers serve, found by the picture's bytes, and solutions of their proof of
 * work, found by its nonce: reading or searching takes a second of computation. Preloaded into a server (`--import`)
 * it keeps each as a file; in a test it finds them.
 */

import { createHash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import type { DrawnAnswer, drawnChannel } from '../../../src/captcha/challenge/challenge.ts';
import type { DerivedSolution, derivedChannel } from '../../../src/captcha/work/work.ts';
import type { Solution } from './solution.ts';

/** Its type keeps it the same: the module itself would bring a hundred others into each server. */
const channelName: typeof drawnChannel = 'portcullis:captcha:drawn';
const workChannelName: typeof derivedChannel = 'portcullis:captcha:derived';

const folder = fileURLToPath(new URL('../../../../test-output/captcha-answers', import.meta.url));

/** Undefined when the picture is of a server without this module. */
export function answerOf(picture: Uint8Array): string | undefined {
  try {
    return readFileSync(fileOf(picture), 'utf8');
  } catch {
    return undefined;
  }
}

/** Returns what the test server itself derived the challenge from, where a search is not the point of the test. */
export function knownSolution(challenge: unknown): Solution {
  const asked = challenge as Solution['challenge'];
  const { counter, derivedKey } = JSON.parse(
    readFileSync(`${folder}/${asked.parameters.nonce}`, 'utf8'),
  ) as DerivedSolution;
  return { challenge: asked, solution: { counter, derivedKey } };
}

function fileOf(picture: Uint8Array): string {
  return `${folder}/${createHash('sha256').update(picture).digest('hex')}`;
}

if (isMainThread) {
  mkdirSync(folder, { recursive: true });
  channel(channelName).subscribe((message) => {
    const { answer, bytes } = message as DrawnAnswer;
    writeFileSync(fileOf(bytes), answer);
  });
  channel(workChannelName).subscribe((message) => {
    const { nonce, ...solution } = message as DerivedSolution;
    writeFileSync(`${folder}/${nonce}`, JSON.stringify(solution));
  });
}
