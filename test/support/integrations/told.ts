/** An answer of the stream of decisions as clients take it: an array without rows comes as `null`. */

export function toldIn<Row>(body: string): { new: Row[]; deleted: Row[] } {
  const { new: added, deleted } = JSON.parse(body) as Record<'new' | 'deleted', Row[] | null>;
  if (added?.length === 0 || deleted?.length === 0) throw new Error(`an empty array: ${body}`);
  return { new: added ?? [], deleted: deleted ?? [] };
}
