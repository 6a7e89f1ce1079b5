/** The pages of a link to sign in that came by mail: the button, and the word for another browser. */

import { LinkButton } from '../../../web/components/button.tsx';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { buttonPage, type LinkPageData } from '../../people/verify.page.tsx';
import { frameText } from '../../words.ts';
import { narrowPage } from '../narrow.page.tsx';

export function signInLinkPage(frame: PageFrame, data: LinkPageData): string {
  const words = frameText(frame).signon.signInLink;
  return buttonPage(frame, data, words, words.text);
}

/** The link is good, and this browser did not ask for it. */
export function otherBrowserPage(frame: PageFrame): string {
  const text = frameText(frame);
  const words = text.signon.signInLink;
  return narrowPage(frame, {
    title: words.otherTitle,
    body: (
      <>
        <p>{words.otherText}</p>
        <p>{words.otherPlain}</p>
        <p>
          <LinkButton label={text.links.signIn} href="/signin" kind="secondary" />
        </p>
      </>
    ),
  });
}
