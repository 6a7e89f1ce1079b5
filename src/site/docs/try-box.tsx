/**
 * "Try it": a form that sends a request to this very server with the reader's own key, and shows the answer.
 * The script does that (docs.js), within the page's `connect-src 'self'`; without it the form stays hidden, and
 * the box holds the same request as a command.
 */

import { Button } from '../../web/components/button.tsx';
import { CodeBlock } from '../../web/components/code-block.tsx';
import { Field } from '../../web/components/field.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import type { Catalogue } from '../words.ts';
import { commandOf, type TryRequest } from './tries.ts';

export interface TryPlace {
  /** Unique on the page: of the heading above. */
  readonly id: string;
  /** The text of that heading, which tells the labels of several boxes apart. */
  readonly heading: string;
  /** Path of the page. */
  readonly page: string;
  /** Scheme and host of the API. */
  readonly origin: string;
}

/** The script shows the one of these notes that fits what it found of the reader's key. */
function keyNotes(page: string, { docs }: Catalogue): Html {
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

export function tryBox(request: TryRequest, place: TryPlace, text: Catalogue): Html {
  const { tryIt } = text.docs;
  const { method, path, hasKey, fields } = request;
  const id = `try-${place.id}`;
  const plain = { mono: true, autocomplete: 'off', maxLength: 1_000 };
  return (
    <details
      class="try"
      lang={tryIt.language}
      data-method={method}
      data-path={path}
      data-origin={place.origin}
      data-failed={tryIt.failed}
    >
      <summary>
        {tryIt.title}
        <span class="visually-hidden"> ({place.heading})</span>
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
            {keyNotes(place.page, text)}
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
          <pre tabindex={0} role="region" aria-label={tryIt.answer(place.heading)}>
            <code />
          </pre>
        </div>
      </form>
      <CodeBlock
        id={`${id}-command`}
        title={tryIt.command}
        text={text}
        label={`${tryIt.command} (${place.heading})`}
        code={commandOf(request, place.origin)}
      />
    </details>
  );
}
