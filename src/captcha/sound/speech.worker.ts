/** Synthesises the voices and ends, so that the program's memory is given back. */

import { parentPort } from 'node:worker_threads';
import { systemRandom } from '../../core/random.ts';
import { yieldToRequests } from '../../core/threads.ts';
import { synthesiseVoices } from './speech.ts';

yieldToRequests();
parentPort!.postMessage(synthesiseVoices(systemRandom()));
