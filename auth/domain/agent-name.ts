import { reservedNames } from '#contracts/vocabulary';

const charactersMax = 63;

/** A valid name for an agent, made from how a client calls itself; "agent" when nothing of it can be used. */
export function agentNameFrom(clientName: string): string {
  const plain = clientName
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, charactersMax)
    .replace(/[-_]+$/, '');
  if (plain === '') return 'agent';
  return (reservedNames as readonly string[]).includes(plain) ? `${plain}-agent` : plain;
}

/** The name itself, or with the first number that makes it unlike all others. */
export function uniqueName(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : `-${number}`;
    const candidate = name.slice(0, charactersMax - suffix.length) + suffix;
    if (!taken.has(candidate)) return candidate;
  }
}
