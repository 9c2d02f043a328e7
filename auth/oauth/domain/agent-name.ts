import { reservedNames } from '#contracts/vocabulary';

const nameCharactersMax = 63;

/** Derives a valid agent name from the name of a client; "agent" when no part of it can be used. */
export function agentNameFrom(clientName: string): string {
  const asciiName = clientName
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replace(/^[^a-z]+/, '')
    .slice(0, nameCharactersMax)
    .replace(/[-_]+$/, '');
  if (asciiName === '') return 'agent';
  return (reservedNames as readonly string[]).includes(asciiName)
    ? `${asciiName}-agent`
    : asciiName;
}

/**
 * Returns the name itself if it is not taken. Otherwise appends the smallest number that makes it
 * unique.
 */
export function toUniqueName(name: string, takenNames: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? '' : `-${number}`;
    const candidate = name.slice(0, nameCharactersMax - suffix.length) + suffix;
    if (!takenNames.has(candidate)) return candidate;
  }
}
