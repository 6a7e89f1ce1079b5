/** Makes the voices and ends, so that the program's memory is given back. */

import { parentPort } from 'node:worker_threads';
import { systemRandom } from '../../core/random.ts';
import { yieldToRequests } from '../../core/threads.ts';
import {
  recordedVoices,
  type SpeechVoices,
  type SpokenLanguage,
  synthesiseVoices,
} from './speech.ts';

yieldToRequests();
const random = systemRandom();
parentPort!.postMessage({
  en: synthesiseVoices(random),
  fr: recordedVoices(random),
} satisfies Record<SpokenLanguage, SpeechVoices>);
