import { isMethodOverride } from './method-override.ts';
import { refusalOfHeaderName } from './request-headers.ts';

/**
 * The parts of a request that can carry a credential. Templates and calls use these names in `in`.
 */
export const credentialPlaceNames = ['header', 'query'] as const;
export type CredentialPlace = (typeof credentialPlaceNames)[number];

/** A header or query parameter of a request. The name is in lower case. */
interface Slot {
  readonly part: 'header' | 'query';
  readonly name: string;
}

interface CredentialPlaceRules {
  /** The name of the place in texts, such as `query parameter`. */
  readonly displayName: string;
  /** Why no credential may have this name; undefined when one may. */
  readonly refusalOfName: (name: string) => string | undefined;
  /** Why a value in this place may not begin with this text; undefined when it may. */
  readonly refusalOfText: (text: string) => string | undefined;
  /**
   * The headers or query parameters of the caller that the credential replaces. Two credentials
   * cannot replace the same one.
   */
  readonly replaces: (key: string) => readonly Slot[];
}

/**
 * The places with what differs between them. Two things about a place are in other files: how a
 * value is written there (executor/request/domain/inject.ts), and which further names templates may
 * not use (registry/security/domain/credential-name.ts). CONTRIBUTING.md says how to add a place.
 */
export const credentialPlaces: Readonly<Record<CredentialPlace, CredentialPlaceRules>> = {
  header: {
    displayName: 'header',
    refusalOfName: refusalOfHeaderName,
    refusalOfText: refusalOfUnprintable,
    replaces: (key) => [{ part: 'header', name: key.toLowerCase() }],
  },
  query: {
    displayName: 'query parameter',
    refusalOfName: (name) =>
      isMethodOverride(name)
        ? 'would change the method of the request, which is refused'
        : undefined,
    refusalOfText: refusalOfUnprintable,
    replaces: (key) => [{ part: 'query', name: key.toLowerCase() }],
  },
};

/** The places as text for messages: `header or query`. */
export const credentialPlaceList: string = new Intl.ListFormat('en-GB', {
  type: 'disjunction',
}).format(credentialPlaceNames);

export function isCredentialPlace(place: unknown): place is CredentialPlace {
  return credentialPlaceNames.some((name) => name === place);
}

interface PlacedCredential {
  readonly in: CredentialPlace;
  readonly key: string;
}

/** The names, in lower case, of the headers or query parameters that these credentials replace. */
export function replacedNamesOf(
  credentials: readonly PlacedCredential[],
  part: Slot['part'],
): ReadonlySet<string> {
  const slots = credentials.flatMap(slotsOf);
  return new Set(slots.flatMap((slot) => (slot.part === part ? [slot.name] : [])));
}

/**
 * The first credential that cannot be sent together with an earlier one, because it would replace
 * the earlier credential.
 */
export function findCollision<Each extends PlacedCredential>(
  credentials: readonly Each[],
): Each | undefined {
  return credentials.find((credential, index) =>
    credentials.slice(0, index).some((earlier) => haveCommonSlot(earlier, credential)),
  );
}

function haveCommonSlot(left: PlacedCredential, right: PlacedCredential): boolean {
  const takenSlots = slotsOf(left);
  return slotsOf(right).some(({ part, name }) =>
    takenSlots.some((slot) => slot.part === part && slot.name === name),
  );
}

function slotsOf({ in: place, key }: PlacedCredential): readonly Slot[] {
  return credentialPlaces[place].replaces(key);
}

function refusalOfUnprintable(text: string): string | undefined {
  return /^[\u0020-\u007e]*$/.test(text) ? undefined : 'may hold printable ASCII characters only';
}
