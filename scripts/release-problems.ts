export interface ReleaseCandidate {
  readonly version: string;
  /** The versions that other files contain, by path. They must all equal `version`. */
  readonly otherVersions: Readonly<Record<string, string | undefined>>;
  readonly changelog: string;
  /** The output of `git status --porcelain`. */
  readonly changedFiles: string;
  readonly tags: readonly string[];
  /** The newest release that has a tag. */
  readonly lastRelease: { readonly tag: string; readonly commit: string } | undefined;
  /** The content of `test/skew/baseline`; '' if this file does not exist. */
  readonly baseline: string;
}

/** Returns what prevents the commit from becoming a release, one sentence for each problem. */
export function findProblems(candidate: ReleaseCandidate): string[] {
  const { version, otherVersions, changelog, changedFiles, tags, lastRelease, baseline } =
    candidate;
  const [firstHeading = ''] = /^## .*$/m.exec(changelog) ?? [];
  return [
    ...(/^\d+\.\d+\.\d+$/.test(version) && version !== '0.0.0'
      ? []
      : [`package.json: the version ${version} is none of a release.`]),
    ...Object.entries(otherVersions).flatMap(([file, other]) =>
      other === version
        ? []
        : [`${file} has the version ${other}: set it to ${version} (CONTRIBUTING.md).`],
    ),
    ...(firstHeading.startsWith(`## ${version} `)
      ? []
      : [`CHANGELOG.md begins with "${firstHeading}", not with "## ${version} (date)".`]),
    ...(changedFiles === '' ? [] : ['There are changes that are not committed.']),
    ...(tags.includes(`v${version}`) ? [`The tag v${version} is there already.`] : []),
    ...(lastRelease === undefined || lastRelease.commit === baseline.trim()
      ? []
      : [
          `test/skew/baseline is not the commit of ${lastRelease.tag}: commit it with ${lastRelease.commit}.`,
        ]),
  ];
}
