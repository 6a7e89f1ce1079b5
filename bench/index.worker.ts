/** One section of the index bench in a thread of its own. */

import { parentPort, workerData } from 'node:worker_threads';
import { indexPlans } from './index-plan.ts';
import { type SectionTask, sections } from './index-sections.ts';

const { section, size } = workerData as SectionTask;
parentPort!.postMessage(await sections[section]!(indexPlans[size]));
