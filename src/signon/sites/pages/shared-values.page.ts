/**
 * The values that a site would read of a scope, field by field, in words of the reader's language. A field
 * without a value is there too: nobody must wonder whether it was forgotten.
 */

import type { Language } from '../../../web/language.ts';
import { formatFor } from '../../../web/layout/format.ts';
import type { ProfileJson } from '../../people/profile/profile-json.ts';
import type { ConsentCatalogue } from '../../words/consent.en.ts';
import { type Scope, scopeFields } from '../scopes.ts';

export interface SharedValue {
  readonly field: keyof ProfileJson;
  readonly label: string;
  /** Undefined: the field is empty, so not shared. */
  readonly value: string | undefined;
}

export function sharedValues(
  scope: Scope,
  values: ProfileJson,
  language: Language,
  text: ConsentCatalogue,
): SharedValue[] {
  return scopeFields[scope].map((field: keyof ProfileJson) => ({
    field,
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
