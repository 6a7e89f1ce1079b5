/**
 * Answers of the pictures that test servers serve, found by the picture's bytes: reading one takes a
 * second of computation, and is wrong now and then. Preloaded into a server (`--import`) it keeps each
 * answer as a file that is named by the hash of its picture; in a test it finds them.
 */

import { createHash } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import type { DrawnAnswer, drawnChannel } from '../../../src/captcha/challenge/challenge.ts';

/** Its type keeps it the same: the module itself would bring a hundred others into each server. */
const channelName: typeof drawnChannel = 'portcullis:captcha:drawn';

const folder = fileURLToPath(new URL('../../../../test-output/captcha-answers', import.meta.url));

/** Undefined when the picture is of a server without this module. */
export function answerOf(picture: Uint8Array): string | undefined {
  try {
    return readFileSync(fileOf(picture), 'utf8');
  } catch {
    return undefined;
  }
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
}
