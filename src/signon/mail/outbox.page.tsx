/** The mails and text messages of a demo, newest first. What they say is text; links of ours can be followed. */

import { Notice } from '../../web/components/card.tsx';
import { Link } from '../../web/components/link.tsx';
import type { Html } from '../../web/html.ts';
import { formatFor } from '../../web/layout/format.ts';
import { type PageFrame, renderDocument } from '../../web/layout/layout.tsx';
import { frameText } from '../words.ts';
import type { OutboxMessage } from './outbox.ts';

interface OutboxPageData {
  readonly messages: readonly OutboxMessage[];
  /** Links of our own begin with it; no other address becomes a link. */
  readonly baseUrl: string;
}

export function outboxPage(frame: PageFrame, { messages, baseUrl }: OutboxPageData): string {
  const words = frameText(frame).signon.outbox;
  const format = formatFor(frame.language);
  return renderDocument(frame, {
    title: words.title,
    noindex: true,
    className: 'page-outbox',
    body: (
      <div class="wrap section outbox">
        <h1>{words.title}</h1>
        <p class="lede">{words.lede}</p>
        {messages.length === 0 && <Notice tone="info">{words.empty}</Notice>}
        {messages.map((message) => (
          <article class="card outbox-mail">
            <h2>{message.kind === 'mail' ? message.subject : words.textMessage}</h2>
            <p class="outbox-to">
              {words.to(message.to)} · {format.time(message.at)}
            </p>
            <pre class="outbox-text">{linked(message.text, baseUrl)}</pre>
          </article>
        ))}
      </div>
    ),
  });
}

/** Returns the text with our own addresses as links. */
function linked(text: string, baseUrl: string): Html[] {
  const own = `${baseUrl}/`;
  return text.split(/([^\s<>"]+)/).map((word): Html => {
    const isOwn = word.startsWith(own) && URL.canParse(word);
    return isOwn ? <Link href={word}>{word}</Link> : word;
  });
}
