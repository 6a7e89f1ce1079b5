/**
 * What a site would read of a scope, field by field, in words of the reader's language. A field
 * without a value is there too: nobody must wonder whether it was forgotten.
 */

import type { ProfileJson } from '../../signon/profile-json.ts';
import { type Scope, scopeFields } from '../../signon/scopes.ts';
import { formatFor } from '../format.ts';
import type { ConsentCatalogue } from '../lang/consent-en.ts';
import type { Language } from '../language.ts';

export interface SharedValue {
  readonly label: string;
  /** Undefined: empty, so not shared. */
  readonly value: string | undefined;
}

export function sharedValues(
  scope: Scope,
  values: ProfileJson,
  language: Language,
  text: ConsentCatalogue,
): SharedValue[] {
  return scopeFields[scope].map((field: keyof ProfileJson) => ({
    label: text.fields[field],
    value: valueText(field, values, language, text),
  }));
}

function valueText(
  field: keyof ProfileJson,
  values: ProfileJson,
  language: Language,
  text: ConsentCatalogue,
): string | undefined {
  const value = values[field];
  if (value === undefined) return undefined;
  switch (field) {
    case 'picture':
      return text.pictureAt(URL.canParse(String(value)) ? new URL(String(value)).host : '');
    case 'address':
      return values.address!.formatted.replaceAll('\n', ', ');
    case 'birthdate':
      return formatFor(language).day(Date.parse(`${String(value)}T00:00:00Z`));
    case 'age':
      return text.years(Number(value));
    case 'service_plan':
      return text.plans[String(value)] ?? String(value);
    default:
      return typeof value === 'boolean' ? (value ? text.yes : text.no) : String(value);
  }
}
