/**
 * "Try it": a form that sends a request to this very server with the reader's own key, and shows the answer.
 * The script does that (docs.js), within the page's `connect-src 'self'`; without it the form stays hidden, and
 * the box holds the same request as a command.
 */

import { CodeBlock } from '../../web/components/card.tsx';
import { Button, Field } from '../../web/components/form.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import type { Translations } from '../words.ts';

// Requests that a reader of the documentation can send from its page to this very server, by page
// and heading.

interface TryField {
  /** The parameter's name, which is the label of its field too. */
  readonly name: string;
  readonly value: string;
}

interface TryRequest {
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
type Tries = Readonly<Record<string, TryRequest>>;

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

interface TryContext {
  readonly id: string;
  /** The text of that heading, which tells the labels of several boxes apart. */
  readonly heading: string;
  readonly page: string;
  /** Scheme and host of the API. */
  readonly origin: string;
}

/** The script shows the one of these notes that fits what it found of the reader's key. */
function keyNotes(page: string, { docs }: Translations): Html {
  const { keys } = docs.tryIt;
  const back = encodeURIComponent(page);
  const notes = [
    ['shown', undefined],
    ['hidden', `/account/confirm?return=${back}`],
    ['none', '/account/keys'],
    ['unknown-reader', `/signin?return=${back}`],
  ] as const;
  return notes.map(([standing, href]) => (
    <p class="field-hint" data-standing={standing} hidden>
      {keys[standing].text}
      {href !== undefined && (
        <>
          {' '}
          <Link href={href}>{keys[standing].link}</Link>
        </>
      )}
    </p>
  ));
}

export function tryBox(request: TryRequest, context: TryContext, text: Translations): Html {
  const { tryIt } = text.docs;
  const { method, path, hasKey, fields } = request;
  const id = `try-${context.id}`;
  const plain = { mono: true, autocomplete: 'off', maxLength: 1_000 };
  return (
    <details
      class="try"
      lang={tryIt.language}
      data-method={method}
      data-path={path}
      data-origin={context.origin}
      data-failed={tryIt.failed}
    >
      <summary>
        {tryIt.title}
        <span class="visually-hidden"> ({context.heading})</span>
      </summary>
      <form class="try-form" autocomplete="off" hidden>
        {hasKey && (
          <>
            <Field
              {...plain}
              id={`${id}-key`}
              name="key"
              label={tryIt.key}
              hint={tryIt.keyHint}
              required
            />
            {keyNotes(context.page, text)}
          </>
        )}
        {fields.map(({ name, value }) => (
          <Field {...plain} id={`${id}-${name}`} name={name} label={name} value={value} />
        ))}
        <p>
          <Button label={tryIt.send} kind="secondary" />
        </p>
        <p class="mono" role="status" />
        <div class="try-answer" hidden>
          <pre tabindex={0} role="region" aria-label={tryIt.answer(context.heading)}>
            <code />
          </pre>
        </div>
      </form>
      <CodeBlock
        id={`${id}-command`}
        title={tryIt.command}
        text={text}
        label={`${tryIt.command} (${context.heading})`}
        code={commandOf(request, context.origin)}
      />
    </details>
  );
}
