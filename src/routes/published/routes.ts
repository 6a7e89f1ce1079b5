/** All that is published about the service: documentation, manifest, llms.txt, OpenAPI. Made once each. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ClientLimit, ClientLimitName } from '../../config.ts';
import type { PlainRoute } from '../../http/router.ts';
import { loadDocs } from '../../pages/docs/library.ts';
import type { PageTools } from '../pages.ts';
import { jsonType } from '../problem.ts';
import { docsRoutes } from './docs.ts';
import { factsOf } from './facts.ts';
import { llmsText } from './llms.ts';
import { manifestOf, type PublishedKit, publishedPaths } from './manifest.ts';
import { publishedManifestSchema } from './manifest-schema.ts';
import { openApiDocument } from './openapi/document.ts';
import { openRoute } from './ready-text.ts';

/** Found from the compiled file: dist/src/routes/published/. */
const root = fileURLToPath(new URL('../../../../', import.meta.url));

export interface PublishedOptions {
  readonly tools: PageTools;
  readonly baseUrl: string;
  readonly secureUrl: string;
  /** Limits per client, those of the whole service. */
  readonly limits: Readonly<Record<ClientLimitName, ClientLimit>>;
  /** The archive for sites, when one is served. */
  readonly kit?: PublishedKit | undefined;
}

export function publishedRoutes(options: PublishedOptions): PlainRoute[] {
  const { tools, baseUrl, secureUrl, kit } = options;
  const version = packageVersion();
  const described = { ...options, version };
  const pages = loadDocs(`${root}docs`, baseUrl, factsOf(options));
  const [, json] = jsonType;
  const { manifest, manifestSchema, openapi, llms } = publishedPaths;
  const schema = publishedManifestSchema(`${baseUrl}${manifestSchema}`);
  return [
    ...docsRoutes({ tools, pages }),
    openRoute(manifest, json, () => jsonText(manifestOf({ ...described, kit }))),
    openRoute(manifestSchema, 'application/schema+json', () => jsonText(schema)),
    openRoute(openapi, json, () => jsonText(openApiDocument(described))),
    openRoute(llms, 'text/plain; charset=utf-8', () =>
      llmsText({ baseUrl, secureUrl, pages, kitPath: kit?.path }),
    ),
  ];
}

/** People look at it, too. */
function jsonText(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function packageVersion(): string {
  const text = readFileSync(`${root}package.json`, 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
