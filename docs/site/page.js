// The search, and the list of pages on a narrow screen.
'use strict'

const root = document.currentScript.dataset.root
const input = document.querySelector('input[type=search]')
const found = document.getElementById('found')
const article = document.querySelector('article')

var index // what index.js sets: all sections
let loading

// load gets what the search looks in, once, when it is first needed. A script and not a
// fetch, which a page that was opened as a file must not do.
function load() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = root + 'index.js'
    script.onload = resolve
    script.onerror = () => reject(new Error('index.js is missing'))
    document.head.append(script)
  })
  return loading
}

// search returns the sections that have all words, best first: those with words in their
// heading before those with words in their text.
function search(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const results = []
  for (const s of index) {
    const heading = (s.heading || s.page).toLowerCase(), page = s.page.toLowerCase(), text = s.text.toLowerCase()
    let score = 0
    for (const w of words) {
      const here = (heading.includes(w) ? 20 : 0) + (page.includes(w) ? 8 : 0) + Math.min(text.split(w).length - 1, 5)
      if (here === 0) { score = 0; break }
      score += here
    }
    if (score > 0) results.push({ section: s, score: s.link.startsWith('bench/results/') ? score / 4 : score })
  }
  return results.sort((a, b) => b.score - a.score).slice(0, 30).map(r => r.section)
}

// excerpt returns the text around the first word, with all words marked.
function excerpt(text, words) {
  const first = Math.max(0, text.toLowerCase().indexOf(words[0]))
  const from = Math.max(0, first - 60)
  const part = (from > 0 ? '… ' : '') + text.slice(from, from + 200) + (from + 200 < text.length ? ' …' : '')
  const p = document.createElement('p')
  let rest = part
  while (rest) {
    const low = rest.toLowerCase()
    const hits = words.map(w => [low.indexOf(w), w.length]).filter(h => h[0] >= 0).sort((a, b) => a[0] - b[0])
    if (hits.length === 0) break
    const [at, length] = hits[0]
    const mark = document.createElement('mark')
    mark.textContent = rest.slice(at, at + length)
    p.append(rest.slice(0, at), mark)
    rest = rest.slice(at + length)
  }
  p.append(rest)
  return p
}

// show shows what was found instead of the page, or the page if nothing is asked for.
async function show() {
  const query = input.value.trim()
  found.hidden = query === ''
  article.hidden = query !== ''
  if (query === '') return
  try {
    await load()
  } catch (err) {
    found.textContent = 'The search does not work: ' + err.message + '.'
    return
  }
  if (query !== input.value.trim()) return // typed on meanwhile
  const words = query.toLowerCase().split(/\s+/)
  const results = search(query)
  const h = document.createElement('h2')
  h.textContent = results.length ? `“${query}”` : `Nothing has “${query}”`
  found.replaceChildren(h, ...results.map(s => {
    const a = document.createElement('a')
    a.href = root + s.link
    a.textContent = s.heading ? `${s.page}: ${s.heading}` : s.page
    a.onclick = () => { input.value = ''; show() }
    const div = document.createElement('div')
    div.append(a, excerpt(s.text, words))
    return div
  }))
}

input.addEventListener('focus', () => load().catch(() => {}))
input.addEventListener('input', show)
input.form.addEventListener('submit', e => {
  e.preventDefault()
  found.querySelector('a')?.click()
})
document.addEventListener('keydown', e => {
  if (e.key === '/' && document.activeElement !== input && !e.ctrlKey && !e.metaKey) {
    e.preventDefault()
    input.focus()
  } else if (e.key === 'Escape' && document.activeElement === input) {
    input.value = ''
    show()
  }
})

const menu = document.getElementById('menu')
menu.addEventListener('click', () => {
  menu.setAttribute('aria-expanded', document.body.classList.toggle('pages'))
})

const asked = new URLSearchParams(location.search).get('q')
if (asked) {
  input.value = asked
  show()
}
