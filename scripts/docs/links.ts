import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import { type Page, ROOT, withoutCode } from './pages.ts'

/** The anchor of a heading, as GitHub makes it; the site uses the same. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-')
}

/** The first heading of a page, without marks. */
export function titleOf(text: string): string {
  const [, heading = ''] = /^# (.+)$/m.exec(text) ?? []
  return heading.replace(/[`*]/g, '')
}

/** Links that lead nowhere, as `page:line: reason`: to missing files, to missing headings, and out of the npm package. */
export function linkFaults(pages: readonly Page[], packed: readonly string[]): readonly string[] {
  const anchors = new Map(pages.map((page) => [page.path, anchorsOf(page.text)]))
  return pages.flatMap((page) =>
    linksOf(page).flatMap(({ line, target }) => {
      const fault = faultOf(page, target)
      return fault === undefined ? [] : [`${page.path}:${line}: ${fault}`]
    }),
  )

  function faultOf(page: Page, target: string): string | undefined {
    if (/^[a-z]+:/.test(target)) return undefined
    const [file = '', anchor] = target.split('#')
    const path = file === '' ? page.path : posix.join(posix.dirname(page.path), file)
    if (path.startsWith('..')) return `${target} leads out of the repository`
    if (!existsSync(join(ROOT, path))) return `${target} does not exist`
    if (isPacked(page.path) && !isPacked(path))
      return `${target} is not in the npm package; link to the repository`
    if (anchor === undefined || !path.endsWith('.md')) return undefined
    return anchors.get(path)?.has(anchor) ? undefined : `${target}: ${path} has no such heading`
  }

  function isPacked(path: string): boolean {
    return packed.some((each) => path === each || path.startsWith(`${each}/`))
  }
}

interface Link {
  readonly line: number
  readonly target: string
}

function linksOf({ text }: Page): readonly Link[] {
  return withoutCode(text)
    .split('\n')
    .flatMap((content, index) =>
      [...content.replace(/`[^`]*`(?!\])/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => ({
        line: index + 1,
        target,
      })),
    )
}

function anchorsOf(text: string): ReadonlySet<string> {
  return new Set(headingsOf(text).map(({ anchor }) => anchor))
}

/** The anchor of the last heading before a line; undefined below the title. */
export function anchorBefore(text: string, line: number): string | undefined {
  const above = headingsOf(text).filter((heading) => heading.line < line)
  return above.length > 1 ? above.at(-1)?.anchor : undefined
}

interface Heading {
  readonly line: number
  readonly anchor: string
}

function headingsOf(text: string): readonly Heading[] {
  const anchors = new Set<string>()
  const headings: Heading[] = []
  for (const [index, content] of withoutCode(text).split('\n').entries()) {
    const [, heading] = /^#{1,6} (.+)$/.exec(content) ?? []
    if (heading === undefined) continue
    const slug = slugOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1'))
    let unique = slug
    for (let count = 1; anchors.has(unique); count += 1) unique = `${slug}-${count}`
    anchors.add(unique)
    headings.push({ line: index + 1, anchor: unique })
  }
  return headings
}
