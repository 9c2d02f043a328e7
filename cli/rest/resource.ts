import type { Cell } from './output.ts';

/** How a command finds the entry that a person names. */
export interface Findable<Item> {
  /** The word for one entry: `agent`. */
  readonly one: string;
  /** The word for several entries, with which the commands start: `agents`. */
  readonly many: string;
  /** The path of the list in the API. It is below the path of `parent` if there is a parent. */
  readonly path: string;
  /** The path below which single entries are, if that is not `path`. */
  readonly itemPath?: string;
  /**
   * The resource to which the entries belong. Commands name the parent first: `keys list <agent>`.
   */
  readonly parent?: Findable<never>;
  /** The names by which an entry can be found. Without this function, the person gives the id. */
  readonly namesOf?: (item: Item) => readonly (string | null | undefined)[];
}

/** One kind of entries that the API lists, shows and deletes. */
export interface Resource<Item> extends Findable<Item> {
  /** Selects and sorts the entries of the whole list, if the API does not do that. */
  readonly arrange?: (items: readonly Item[]) => Item[];
  /** The columns of the table: title and cell. */
  readonly columns: Readonly<Record<string, (item: Item) => Cell>>;
}

/** How a command changes an entry: by which request, and which sentence it prints afterwards. */
export interface Change {
  /** The word of the command: `archive`. */
  readonly verb: string;
  /**
   * The last path segment of the POST request. Without it, the request is a DELETE of the entry.
   */
  readonly post?: string;
  /** The end of the sentence that is printed, after the name of the entry: `is deleted`. */
  readonly done: string;
  /** Whether the change cannot be undone, so that a person has to confirm it. */
  readonly isFinal?: true;
}
