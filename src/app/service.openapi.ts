/** The OpenAPI schema of the answer of /readyz. */

import { memoryVerdicts } from '../storage/nodes/digests.ts';
import {
  answer,
  boolean,
  count,
  type Described,
  media,
  nullable,
  object,
  ref,
} from '../web/openapi.ts';

export const readinessDocs: Described = {
  id: 'readiness',
  tag: 'Service',
  summary: 'Whether the service is up to date, can write and is not about to stop; 503 when not.',
  answers: { 200: answer('Ready.', media(ref('Readiness'))) },
  refusals: media({ anyOf: [ref('Readiness'), ref('Errors')] }),
  schemas: {
    Readiness: object(
      {
        ready: boolean,
        indexLoaded: boolean,
        writable: boolean,
        draining: boolean,
        entries: count,
        behind: count,
        newestListAgeSeconds: nullable({ type: 'number', minimum: 0 }),
        staleSeconds: count,
        memory: { type: 'string', enum: [...memoryVerdicts] },
        outdated: boolean,
      },
      { optional: ['staleSeconds', 'memory', 'outdated'] },
    ),
  },
};
