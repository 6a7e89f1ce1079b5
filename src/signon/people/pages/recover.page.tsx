/** A forgotten password: asking for the link, and choosing a new one. */

import { Button } from '../../../web/components/button.tsx';
import { Form, Hidden } from '../../../web/components/form.tsx';
import { Link } from '../../../web/components/link.tsx';
import type { PageFrame } from '../../../web/layout/layout.tsx';
import { narrowPage } from '../../sessions/narrow.page.tsx';
import { type Onward, onwardFields, onwardHref } from '../../sessions/onward.page.tsx';
import { frameText } from '../../words.ts';
import { accountField, emailField, newPasswordField } from './register.page.tsx';

export function recoverPage(
  frame: PageFrame,
  data: Onward & { csrf: string; email?: string; error?: string },
): string {
  const text = frameText(frame);
  const words = text.signon.recover;
  return narrowPage(
    { ...frame, back: onwardHref('/recover', data) },
    {
      title: words.title,
      lede: words.lede,
      body: (
        <Form action={onwardHref('/recover', data)} csrf={data.csrf}>
          {onwardFields(data)}
          {emailField(frame, {
            inputMode: 'email',
            ...(data.email === undefined ? {} : { value: data.email }),
            ...(data.error === undefined ? {} : { error: data.error }),
          })}
          <Button label={words.submit} />
        </Form>
      ),
      foot: (
        <p>
          <Link href={onwardHref('/signin', data)}>{text.links.signIn}</Link>
        </p>
      ),
    },
  );
}

export function resetPage(
  frame: PageFrame,
  data: { csrf: string; token: string; account: string; error?: string },
): string {
  const text = frameText(frame);
  const words = text.signon.reset;
  return narrowPage(frame, {
    title: words.title,
    lede: words.lede,
    body: (
      <Form action={`/reset?token=${encodeURIComponent(data.token)}`} csrf={data.csrf}>
        <Hidden name="token" value={data.token} />
        {accountField(data.account)}
        {newPasswordField(frame, text.signon.newPassword, data.error)}
        <Button label={words.submit} />
      </Form>
    ),
  });
}
