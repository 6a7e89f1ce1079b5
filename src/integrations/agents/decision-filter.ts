/** Selects the decisions of an account's agents that are to be retracted, as `cscli` names them. */

import { networkBehind } from '../../ip/behind.ts';
import { contains, formatNetwork, type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { idOf, saidByAgent } from '../bouncers/decisions.ts';
import type { Decision } from './decision.ts';

export type IsMeant = (
  value: string,
  decision: Pick<Decision, 'type' | 'origin' | 'scenario'>,
) => boolean;

/** @returns undefined where the text is neither an address nor a network */
export function networkOf(text: string): Prefix | undefined {
  const prefix = parsePrefix(text.trim(), 'mask');
  return prefix.ok ? networkBehind(prefix.value) : undefined;
}

/** True when all of `inner` lies in `outer`. */
export function covers(outer: Prefix, inner: Prefix): boolean {
  return outer.length <= inner.length && contains(outer, inner.family, inner.words);
}

export function scopeOf(value: string): 'Ip' | 'Range' {
  return value.includes('/') ? 'Range' : 'Ip';
}

const filterNames = [
  ...['contains', 'ip', 'origin', 'origins', 'range', 'scenario'],
  ...['scope', 'scopes', 'type', 'types', 'value'],
];

/**
 * Without a filter all are meant. A filter that is not known, or empty, is refused: it must not mean all.
 * The text says what is wrong.
 */
export function readDecisionFilter(params: {
  get(name: string): string | undefined;
  readonly names: Iterable<string>;
}): IsMeant | string {
  for (const name of params.names) {
    if (!filterNames.includes(name)) return `${name.slice(0, 40)} is no filter of decisions`;
    if (!params.get(name)?.trim()) return `${name} is empty`;
  }
  const given = (...names: string[]) => {
    const text = names.map((name) => params.get(name)).find((one) => one !== undefined);
    return text?.trim();
  };
  const places = ['ip', 'range'].flatMap((name) => given(name) ?? []);
  const networks = places.map(networkOf);
  if (networks.includes(undefined)) return 'ip or range must be an address or a network';
  const containing = given('contains')?.toLowerCase() ?? 'true';
  const isContaining = ['true', '1', 't'].includes(containing);
  if (!isContaining && !['false', '0', 'f'].includes(containing))
    return 'contains is true or false';
  const [scope, type] = [given('scope', 'scopes'), given('type', 'types')].map((text) =>
    text?.toLowerCase(),
  );
  const [scenario, origin, value] = [given('scenario'), given('origin', 'origins'), given('value')];
  const one = value === undefined ? undefined : networkOf(value);
  const oneValue = one === undefined ? value : formatNetwork(one);
  return (name, decision) => {
    const said = saidByAgent(decision);
    if (scope !== undefined && scopeOf(name).toLowerCase() !== scope) return false;
    if (type !== undefined && said.type !== type) return false;
    if (scenario !== undefined && said.scenario !== scenario) return false;
    if (origin !== undefined && said.origin.toLowerCase() !== origin.toLowerCase()) return false;
    if (oneValue !== undefined && name !== oneValue) return false;
    if (networks.length === 0) return true;
    const own = networkOf(name);
    return networks.every((network) => {
      if (own === undefined || network === undefined) return false;
      return isContaining ? covers(own, network) : covers(network, own);
    });
  };
}

/** The text says what is wrong. */
export function readDecisionId(text: string): IsMeant | string {
  if (!/^\d{1,16}$/.test(text)) return 'the id of a decision is a whole number';
  const id = Number(text);
  return (value) => idOf(value) === id;
}
