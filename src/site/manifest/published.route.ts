/** All that is published about the service: documentation, manifest, llms.txt, OpenAPI. Made once each. */

import { packageVersion } from '../../config/version.ts';
import type { Preparation } from '../../core/preparation.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { PageTools } from '../../web/page-tools.ts';
import { jsonType } from '../../web/shape.ts';
import { docsRoutes } from '../docs/docs.route.ts';
import { factsOf } from '../docs/facts.ts';
import { docsFolder, loadDocs } from '../docs/library.ts';
import { openApiDocument } from '../openapi/document.ts';
import { llmsText } from './llms.ts';
import { manifestOf, type PublishedKit, publishedPaths } from './manifest.ts';
import { publishedManifestSchema } from './manifest-schema.ts';
import { manifestDocs, manifestSchemaDocs, openapiDocs } from './published.openapi.ts';
import { readyEndpoint, readyRoute } from './ready-text.route.ts';

const ready = {
  manifest: readyEndpoint(publishedPaths.manifest, manifestDocs),
  schema: readyEndpoint(publishedPaths.manifestSchema, manifestSchemaDocs),
  openapi: readyEndpoint(publishedPaths.openapi, openapiDocs),
  llms: readyEndpoint(publishedPaths.llms, 'text'),
} as const;

export const publishedEndpoints: readonly Endpoint[] = Object.values(ready);

export interface PublishedOptions {
  readonly guard: Guard;
  /** All of the service. */
  readonly endpoints: readonly Endpoint[];
  readonly tools: PageTools;
  readonly baseUrl: string;
  readonly secureUrl: string;
  /** The archive for sites, when one is served. */
  readonly kit?: PublishedKit | undefined;
  /** The zone of the DNS block list; undefined: none is served. */
  readonly dnsZone?: string | undefined;
  /** HAProxy asks the gate at this address and port; undefined: it can't. */
  readonly spoeListen?: string | undefined;
}

export function publishedRoutes(options: PublishedOptions): {
  routes: PlainRoute[];
  preparations: Preparation[];
} {
  const { guard, tools, baseUrl, secureUrl, kit } = options;
  const version = packageVersion();
  const described = { ...options, version };
  const pages = loadDocs(docsFolder, baseUrl, factsOf(options));
  const [, json] = jsonType;
  const schema = publishedManifestSchema(`${baseUrl}${publishedPaths.manifestSchema}`);
  const routes = [
    ...docsRoutes({ guard, tools, pages }),
    readyRoute(guard, ready.manifest, json, () => jsonText(manifestOf({ ...described, kit }))),
    readyRoute(guard, ready.schema, 'application/schema+json', () => jsonText(schema)),
    readyRoute(guard, ready.openapi, json, () => jsonText(openApiDocument(described))),
    readyRoute(guard, ready.llms, 'text/plain; charset=utf-8', () =>
      llmsText({ baseUrl, secureUrl, pages, kitPath: kit?.path }),
    ),
  ];
  return { routes, preparations: pages.map((page) => () => page.article) };
}

/** People look at it, too. */
function jsonText(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
