/** Components of the forms about an address. */

import { unitsMax } from '../../web/components/field.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';

interface TextArea {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly max: number;
  readonly required: boolean;
  readonly error?: string | undefined;
}

export function textArea({ name, label, hint, value, max, required, error }: TextArea): Html {
  return (
    <div class={error === undefined ? 'field' : 'field has-error'}>
      <label for={name}>{label}</label>
      <p class="field-hint" id={`${name}-hint`}>
        {hint}
      </p>
      <textarea
        class="input"
        id={name}
        name={name}
        rows={5}
        required={required}
        maxlength={unitsMax(max)}
        aria-invalid={error === undefined ? undefined : 'true'}
        aria-describedby={`${name}-hint`}
      >
        {value}
      </textarea>
      {error !== undefined && <p class="field-error">{error}</p>}
    </div>
  );
}

export function aboutAddress(frame: PageFrame, address: string, title: string, body: Html): string {
  return renderDocument(frame, {
    title: `${title}: ${address}`,
    noindex: true,
    className: 'page-request',
    body: (
      <div class="wrap stack">
        <h1>
          <span class="eyebrow">{title}</span>{' '}
          <Link class="address mono" href={`/ip/${address}`}>
            {address}
          </Link>
        </h1>
        {body}
      </div>
    ),
  });
}
