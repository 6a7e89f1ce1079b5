/**
 * Requests that a reader of the documentation can send from its page to this very server, by page
 * and heading.
 */

export interface TryField {
  /** The parameter's name, which is the label of its field too. */
  readonly name: string;
  readonly value: string;
}

export interface TryRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** False: it wants none. */
  readonly hasKey: boolean;
  readonly fields: readonly TryField[];
}

const check: TryRequest = {
  method: 'GET',
  path: '/api/v2/check',
  hasKey: true,
  fields: [
    { name: 'ipAddress', value: '198.51.100.7' },
    { name: 'maxAgeInDays', value: '' },
  ],
};

/** By the id of the heading; the first sample under it has the request below it. */
export type Tries = Readonly<Record<string, TryRequest>>;

/** Has the samples that can be tried, by the slug of their page. */
export const tries: Readonly<Record<string, Tries>> = {
  'ask-about-an-address': { 'in-a-program': check },
  'ip-api': {
    'get-check': check,
    'get-reports': {
      method: 'GET',
      path: '/api/v2/reports',
      hasKey: true,
      fields: [
        { name: 'ipAddress', value: '198.51.100.9' },
        { name: 'perPage', value: '10' },
      ],
    },
    'get-check-block': {
      method: 'GET',
      path: '/api/v2/check-block',
      hasKey: true,
      fields: [
        { name: 'network', value: '203.0.113.0/24' },
        { name: 'maxAgeInDays', value: '30' },
      ],
    },
    // Each server takes this address and keeps nothing of it.
    'post-report': {
      method: 'POST',
      path: '/api/v2/report',
      hasKey: true,
      fields: [
        { name: 'ip', value: '127.0.0.1' },
        { name: 'categories', value: '18,22' },
        { name: 'comment', value: 'SSH brute force' },
      ],
    },
    'get-stats': { method: 'GET', path: '/api/v2/stats', hasKey: false, fields: [] },
  },
};

/** The same request for a shell; `docs.js` writes it anew as the fields change. */
export function commandOf({ method, path, hasKey, fields }: TryRequest, origin: string): string {
  const sent = fields.filter(({ value }) => value !== '');
  return [
    `curl -s${method === 'GET' && sent.length > 0 ? ' -G' : ''}${hasKey ? ' -H "Key: $KEY"' : ''} ${quoted(origin + path)}`,
    ...sent.map(({ name, value }) => `--data-urlencode ${quoted(`${name}=${value}`)}`),
  ].join(' \\\n  ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
