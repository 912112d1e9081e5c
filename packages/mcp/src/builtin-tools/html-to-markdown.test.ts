import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { htmlToMarkdown } from './html-to-markdown.ts'

const convert = (html: string) => htmlToMarkdown(html, 'https://example.com/docs/page').markdown

describe('htmlToMarkdown', () => {
  it('reads headings, paragraphs and marks', () => {
    expect(convert('<h2>A <i>b</i></h2><p>one <b> two </b>three<em></em>, <code>x</code>.<br>next</p>')).toBe(
      '## A _b_\n\none **two** three, `x`.\nnext',
    )
  })

  it('makes links absolute and drops invalid ones', () => {
    expect(convert('<a href="../a b">x</a> <a href="//o.test">y</a>')).toBe(
      '[x](https://example.com/a%20b) [y](https://o.test/)',
    )
    expect(convert('<a href="javascript:alert(1)">x</a> <a href="#top">y</a> <a href="/z"></a>w')).toBe(
      'x y w',
    )
    expect(convert('<a href="/x"><div><h3>Title</h3><p>text</p></div></a>')).toBe(
      '[Title text](https://example.com/x)',
    )
  })

  it('shows images by their alt text', () => {
    expect(convert('<img alt="A cat" src="cat.png"><img src="spacer.gif"><img alt="B" src="data:x">')).toBe(
      '![A cat](https://example.com/docs/cat.png)B',
    )
  })

  it('nests lists and numbers them', () => {
    expect(convert('<ul><li>a<ol start=9><li>b<li>c</ol><li><p>d</p><p>e</p></ul>f')).toBe(
      '- a\n  9. b\n  10. c\n- d\n\n  e\n\nf',
    )
  })

  it('keeps code unchanged, fenced by more ticks than it contains', () => {
    expect(convert('<pre><code class="language-ts">a  b\n  &lt;c&gt;<br>d\n</code></pre>')).toBe(
      '```ts\na  b\n  <c>\nd\n```',
    )
    expect(convert('<pre>```</pre>')).toBe('````\n```\n````')
  })

  it('quotes', () => {
    expect(convert('<blockquote><p>a</p><ul><li>b</ul></blockquote>c')).toBe('> a\n>\n> - b\n\nc')
  })

  it('writes tables, and reads layout tables as text', () => {
    expect(convert('<table><tr><th>A<th>B|C<tr><td><p>1</p><p>2</p><td></table>x')).toBe(
      '| A | B\\|C |\n| --- | --- |\n| 1 2 |  |\n\nx',
    )
    expect(convert('<table><tr><td>one</td></tr><tr><td>two|</td></tr></table>')).toBe('one\n\ntwo|')
    expect(convert('<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>')).toBe(
      '| a b c | d |\n| --- | --- |',
    )
  })

  it('leaves out hidden elements', () => {
    const hidden = [
      '<script>x</script>',
      '<style>x</style>',
      '<p hidden>x</p>',
      '<p style="display: none">x</p>',
      '<p aria-hidden="true">x<b>x</b></p>',
      '<svg><title>x</title></svg>',
      '<template><p>x</template>',
      '<!-- x -->',
    ]
    expect(convert(`<p>a${hidden.join('')}</p>\u200b\u{E0041}b`)).toBe('a\n\nb')
  })

  it('reads unknown elements', () => {
    expect(convert('<constructor>a <x-y>b</x-y></constructor> <x-z hidden>c')).toBe('a b')
  })

  it('finds the title', () => {
    expect(htmlToMarkdown('<title> A &amp;\n B </title><p>x', 'https://example.com')).toEqual({
      title: 'A & B',
      markdown: 'x',
    })
  })

  it('reads pages built to exhaust it', () => {
    for (const html of [
      '<div>'.repeat(200_000),
      `${'<b>'.repeat(490)}${'</i>'.repeat(100_000)}`,
      `${'<blockquote>'.repeat(400)}${'<p>x</p>'.repeat(20_000)}`,
      `${'<table><tr><td>'.repeat(160)}${'<p>x</p>'.repeat(20_000)}`,
      `<table><tr>${'<td>'.repeat(50_000)}`,
      '<a href=x>y'.repeat(20_000),
      `<pre>a${' '.repeat(500_000)}x`,
    ])
      expect(convert(html).length).toBeLessThan(html.length * 20 + 100)
    expect(convert(`<p>start</p>${'<div>'.repeat(1_000)}`)).toMatch(/^start\n\n\[the rest/)
  })

  it('never throws and loses no word of a plain paragraph', () => {
    const tag = fc.constantFrom(
      '<p>',
      '</p>',
      '<a href="/x">',
      '</a>',
      '<td>',
      '<tr>',
      '<table>',
      '</table>',
      '<li>',
    )
    const more = fc.constantFrom(
      '<ul>',
      '</ul>',
      '<pre>',
      '</pre>',
      '<b>',
      '</b>',
      '<h1>',
      '<blockquote>',
      '<',
      '&',
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(tag, more, fc.constant('word ')), { maxLength: 40 }), (pieces) => {
        const count = (text: string) => text.split('word').length - 1
        const html = pieces.join('')
        if (!html.includes('<<') && !/[<&]word/.test(html)) expect(count(convert(html))).toBe(count(html))
      }),
      { numRuns: 500 },
    )
  })

  it('leaves no gap in place of hidden characters', () => {
    expect(convert('\0<p>one<p>\u200b<p>two')).toBe('one\n\ntwo')
  })
})
