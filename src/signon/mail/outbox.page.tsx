/**
 * The mails and text messages of a demo: a list, newest first, and the one that is open as its reader sees it. Its
 * document is in a frame of no origin; its text is text, in which links of ours can be followed.
 */

import { EmptyState } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import { type Html, safeHref } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText } from '../words.ts';
import type { OutboxMessage } from './outbox.ts';

interface OutboxPageData {
  readonly messages: readonly OutboxMessage[];
  /** The one that is open; undefined: there is none. */
  readonly shown: OutboxMessage | undefined;
  /** Links of our own begin with it; no other address becomes a link. */
  readonly baseUrl: string;
  /** The page's own. */
  readonly path: string;
}

export function outboxPage(frame: PageFrame, data: OutboxPageData): string {
  const words = frameText(frame).signon.outbox;
  const { messages, shown } = data;
  return renderDocument(frame, {
    title: words.title,
    noindex: true,
    className: 'page-outbox',
    body: (
      <div class="wrap section outbox">
        <div>
          <h1>{words.title}</h1>
          <p class="lede">{words.lede}</p>
        </div>
        {shown === undefined ? (
          <EmptyState icon="mail" text={words.empty} />
        ) : (
          <div class="outbox-panes">
            <nav aria-label={words.list}>
              <ul class="outbox-list">{messages.map((one) => outboxLine(frame, data, one))}</ul>
            </nav>
            {openMessage(frame, data, shown)}
          </div>
        )}
      </div>
    ),
  });
}

function titleOf(frame: PageFrame, { kind, subject }: OutboxMessage): string {
  return kind === 'mail' ? subject : frameText(frame).signon.outbox.textMessage;
}

function outboxLine(frame: PageFrame, { path, shown }: OutboxPageData, one: OutboxMessage): Html {
  const words = frameText(frame).signon.outbox;
  const isShown = one.file === shown?.file;
  return (
    <li>
      <Link
        href={`${path}?${new URLSearchParams({ mail: one.file })}`}
        aria-current={isShown ? 'true' : undefined}
      >
        <strong>{titleOf(frame, one)}</strong>
        <span>{words.to(one.to)}</span>
        <span>{formatFor(frame.language).time(one.at)}</span>
      </Link>
    </li>
  );
}

function openMessage(frame: PageFrame, data: OutboxPageData, message: OutboxMessage): Html {
  const words = frameText(frame).signon.outbox;
  const title = titleOf(frame, message);
  const document = `${data.path}?${new URLSearchParams({ mail: message.file, as: 'html' })}`;
  const text = <pre class="outbox-text">{linked(message.text, data.baseUrl)}</pre>;
  return (
    <article class="card outbox-mail">
      <h2>{title}</h2>
      <p class="outbox-to">
        {words.to(message.to)} · {formatFor(frame.language).time(message.at)}
      </p>
      {message.html === undefined ? (
        text
      ) : (
        <>
          <iframe
            class="outbox-frame"
            title={title}
            src={safeHref(document)}
            sandbox="allow-top-navigation-by-user-activation"
          />
          <details class="outbox-plain">
            <summary>{words.plain}</summary>
            {text}
          </details>
        </>
      )}
    </article>
  );
}

/** Returns the text with our own addresses as links. */
function linked(text: string, baseUrl: string): Html[] {
  const own = `${baseUrl}/`;
  return text.split(/([^\s<>"]+)/).map((word): Html => {
    const isOwn = word.startsWith(own) && URL.canParse(word);
    return isOwn ? <Link href={word}>{word}</Link> : word;
  });
}
