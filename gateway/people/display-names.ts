import { deadlineIn } from '#bus';
import type { Deadline } from '#bus';
import { namedIdentitiesMax } from '#contracts/bus/people';
import type { ShownIdentity } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';

/**
 * The longest wait for names. Every answer also has the handles of people, so a longer wait is not
 * worthwhile.
 */
const namesMsMax = 1_000;

type Auth = Pick<Deps['auth'], 'listDisplayNames'>;

interface NameReader {
  readonly principal: string;
  readonly deadline: Deadline;
}

/** The members of answers that contain an identity. */
interface ShowsIdentities {
  readonly requester?: ShownIdentity;
  readonly requested_by?: ShownIdentity;
  readonly resolved_by?: ShownIdentity | null;
  readonly decided_by?: ShownIdentity | null;
  readonly also_asked_by?: readonly ShownIdentity[];
}
const memberNames = [
  'requester',
  'requested_by',
  'resolved_by',
  'decided_by',
  'also_asked_by',
] as const satisfies readonly (keyof ShowsIdentities)[];

/** Adds the display names of people to the identities in an answer. */
export async function withDisplayNames<Answer extends ShowsIdentities>(
  auth: Auth,
  reader: NameReader,
  answer: Promise<Answer>,
): Promise<Answer> {
  const [namedAnswer] = await addDisplayNames(auth, reader, [await answer]);
  return namedAnswer as Answer;
}

/** Adds the display names of people to the identities in the items of a page. */
export async function withDisplayNamesOnPage<
  Item extends ShowsIdentities,
  Page extends { readonly items: Item[] },
>(auth: Auth, reader: NameReader, page: Promise<Page>): Promise<Page> {
  const { items, ...rest } = await page;
  return { ...rest, items: await addDisplayNames(auth, reader, items) } as unknown as Page;
}

/** Lists the display names of the people in audit records. The list is sent beside the records. */
export async function listPeople(
  auth: Auth,
  reader: NameReader,
  records: readonly { readonly user_id: string | null }[],
): Promise<{ people?: { user_id: string; display_name: string }[] }> {
  const names = await readDisplayNames(
    auth,
    reader,
    records.flatMap(({ user_id: userId }) => userId ?? []),
  );
  const people = [...names].map(([id, name]) => ({ user_id: id, display_name: name }));
  return people.length === 0 ? {} : { people };
}

async function addDisplayNames<Item extends ShowsIdentities>(
  auth: Auth,
  reader: NameReader,
  items: readonly Item[],
): Promise<Item[]> {
  const ids = items.flatMap((item) =>
    memberNames.flatMap((member) => [item[member] ?? []].flat().map(({ id }) => id)),
  );
  const names = await readDisplayNames(auth, reader, ids);
  if (names.size === 0) return [...items];
  const addName = (identity: ShownIdentity): ShownIdentity => {
    const name = names.get(identity.id);
    return name === undefined ? identity : { ...identity, display_name: name };
  };
  return items.map((item) => {
    const namedMembers = memberNames.flatMap((member) => {
      const value = item[member];
      if (value === undefined || value === null) return [];
      return [
        [member, Array.isArray(value) ? value.map(addName) : addName(value as never)] as const,
      ];
    });
    return { ...item, ...Object.fromEntries(namedMembers) };
  });
}

/**
 * Reads display names by the ids of identities. If they cannot be read, the answer is sent without
 * them: every answer also has the handles of people.
 */
async function readDisplayNames(
  auth: Auth,
  { principal, deadline }: NameReader,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const wantedIds = [...new Set(ids)].slice(0, namedIdentitiesMax);
  if (wantedIds.length === 0) return new Map();
  try {
    const { names } = await auth.listDisplayNames(
      { principal, ids: wantedIds },
      deadlineIn(Math.min(namesMsMax, deadline.remainingMs())),
    );
    return new Map(names.map(({ id, displayName }) => [id, displayName]));
  } catch {
    return new Map();
  }
}
