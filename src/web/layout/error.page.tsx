/** The page of a failure: says what happened and what to do, and never reveals the internals. */

import { requestIdMark } from '../../http/request/message.ts';
import { LinkButton } from '../components/button.tsx';
import { LookupForm } from '../components/field.tsx';
import { GateDrawing } from '../components/gauge.tsx';
import type { Html } from '../html.ts';
import { frameText, type PageFrame, renderDocument } from './layout.tsx';

export type ErrorStatus = 400 | 403 | 404 | 405 | 408 | 413 | 415 | 429 | 500 | 503;

export interface ErrorPageData {
  readonly status: ErrorStatus;
  /** In place of the catalogue's words for the status. */
  readonly title?: string | undefined;
  readonly detail?: string | undefined;
  /** The page whose form it was. */
  readonly back?: string | undefined;
}

/** Returns the end of a page about an error: the way home, and what a person quotes who asks the operator about it. */
export function failureEnd(frame: PageFrame): Html {
  const { error } = frameText(frame);
  return (
    <>
      <p>
        <LinkButton
          label={error.goHome}
          href={frame.links.home ?? '/'}
          kind="secondary"
          icon="back"
        />
      </p>
      <p class="field-hint">
        {error.request} <code>{requestIdMark}</code>
      </p>
    </>
  );
}

export function errorPage(frame: PageFrame, data: ErrorPageData): string {
  const text = frameText(frame);
  const title = data.title ?? text.error.titles[data.status];
  return renderDocument(frame, {
    title,
    noindex: true,
    className: 'page-error',
    body: (
      <div class="wrap failure">
        <GateDrawing id="failure-gate" closed={1} className="failure-gate" />
        <div class="failure-text">
          <p class="eyebrow">{text.error.status(data.status)}</p>
          <h1>{title}</h1>
          <p class="lede">{data.detail ?? text.error.details[data.status]}</p>
          {data.status === 400 || data.status === 404 ? (
            <LookupForm id="failure-lookup" action={frame.lookupAction ?? '/ip'} text={text} />
          ) : null}
          {data.back && (
            <p>
              <LinkButton label={text.error.goBack} href={data.back} icon="back" />
            </p>
          )}
          {failureEnd(frame)}
        </div>
      </div>
    ),
  });
}
