/**
 * A hook for modules: lmdb is opened with other options than the program gives, which has no such
 * door. Controls show with it that a test would notice.
 */

import type { InitializeHook, LoadHook, ResolveHook } from 'node:module';

let options = '{}';
const mark = 'with-options:';

export const initialize: InitializeHook<string> = (given) => {
  options = given;
};

export const resolve: ResolveHook = async (specifier, context, next) => {
  const found = await next(specifier, context);
  const isAsked = specifier === 'lmdb' && context.parentURL?.startsWith(mark) !== true;
  return isAsked ? { ...found, url: mark + found.url, shortCircuit: true } : found;
};

export const load: LoadHook = async (url, context, next) => {
  if (!url.startsWith(mark)) return next(url, context);
  const real = JSON.stringify(url.slice(mark.length));
  const source = `import { open as plain } from ${real};
export * from ${real};
export const open = (given) => plain({ ...given, ...${options} });`;
  return { format: 'module', source, shortCircuit: true };
};
