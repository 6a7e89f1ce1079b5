/** Preloaded into a server: the program of before all that came later, which reads version 1 of the events. */

import { eventVersions } from '../../../src/storage/nodes/events.ts';

for (const [kind, versions] of Object.entries(eventVersions)) {
  const known = versions.filter((version) => version === 1);
  if (known.length === 0) delete eventVersions[kind];
  else eventVersions[kind] = known;
}
