/**
 * The services that ranges of a known-good list belong to. A row carries the number where rows of other lists
 * carry how many reports they count as; 1 says nothing, so a list without services is written as before.
 */

export const serviceNames = ['crawler', 'content', 'updates', 'names'] as const;
export type ServiceName = (typeof serviceNames)[number];

const noService = 1;

/** Never changes for a name: rows of the journal hold it. */
export function serviceNumber(name: ServiceName | undefined): number {
  return name === undefined ? noService : serviceNames.indexOf(name) + 2;
}

/** Undefined: the list did not say. */
export function serviceOf(number: number): ServiceName | undefined {
  return serviceNames[number - 2];
}
