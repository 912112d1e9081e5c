import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { defineConfig } from 'vitepress'
import { slugOf, titleOf } from '../../scripts/docs/links.ts'

const docs = join(import.meta.dirname, '..')

function page(path: string, text: string = titleOf(readFileSync(join(docs, path), 'utf8'))) {
  return { text, link: `/${path.replace(/(index)?\.md$/, '')}` }
}

function folder(name: string) {
  return readdirSync(join(docs, name))
    .filter((file) => file.endsWith('.md') && file !== 'index.md')
    .sort()
    .map((file) => page(`${name}/${file}`))
}

const GUIDES = [
  'first-agent',
  'team-gateway',
  'sub-agents',
  'lasting-sessions',
  'guarding-tools',
  'isolating-servers',
  'scripts',
  'apis',
  'skills',
  'costs',
  'security-model',
  'your-programs',
  'troubleshooting',
]
const TOPICS = [
  'registry',
  'choosing',
  'search',
  'running-calls',
  'capabilities',
  'builtin-tools',
  'stores',
  'dialects',
  'agent',
  'mcp-servers',
  'safety',
  'clients',
]
const DOORS = ['command-line', 'gateway', 'inspector', 'scaling']

export default defineConfig({
  title: 'Toolcrib',
  description: 'One registry for every tool an agent may use, and a search that finds the right one.',
  lang: 'en',
  cleanUrls: true,
  // Pages also link to files of the repository, as readers on GitHub need; `npm run docs -- check` checks all links.
  ignoreDeadLinks: true,
  // The index of the search is one file.
  vite: { build: { chunkSizeWarningLimit: 4_000 } },
  markdown: {
    // The same anchors as on GitHub.
    anchor: { slugify: slugOf },
    // A link to a file beside docs/ works on GitHub and in the package; on the site it is text.
    config: (md) => {
      md.core.ruler.push('outside-links', ({ tokens, env }) => {
        const folder = posix.dirname(String(env.relativePath ?? ''))
        for (const { children } of tokens) {
          let isOutside = false
          for (const token of children ?? []) {
            if (token.type === 'link_open') {
              const href = String(token.attrGet('href'))
              isOutside = !/^(?:[a-z]+:|#)/.test(href) && posix.join(folder, href).startsWith('..')
              if (isOutside) token.attrs = []
            }
            if (isOutside && token.type.startsWith('link_')) token.tag = 'span'
          }
        }
      })
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/guides/first-agent' },
      { text: 'Reference', link: '/reference/' },
      { text: 'Coming from …', link: '/coming-from' },
    ],
    sidebar: [
      { text: 'Guides', items: GUIDES.map((name) => page(`guides/${name}.md`)) },
      { text: 'In depth', items: TOPICS.map((name) => page(`${name}.md`)) },
      { text: 'Doors', items: DOORS.map((name) => page(`${name}.md`)) },
      { text: 'Coming from …', items: [page('coming-from.md'), page('non-goals.md')] },
      { text: 'Reference', collapsed: true, items: [page('reference/index.md'), ...folder('reference')] },
      { text: 'Decisions', collapsed: true, items: folder('decisions') },
    ],
  },
})
