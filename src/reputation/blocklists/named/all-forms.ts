/** All forms of a feed: those that the blocklist is built ahead in, and those of products. */

import { builtAhead, type Form } from './forms.ts';
import { vendorForms } from './vendors.ts';

export const forms: readonly Form[] = [...builtAhead, ...vendorForms];
export const formByExtension = new Map(forms.map((form) => [form.extension, form]));
