// Draws the plots of the report from the JSON element, in the page's own colours, and again when those
// change (dark setting, printing). Counts plotted points and errors in attributes of <body>.
'use strict';
window.addEventListener('error', (e) => { document.body.dataset.errors += e.message + '\n'; });
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const hues = [211, 32, 152, 340];  // of roofs
  const kernelHues = [null, 275, 70, 185, 10, 300];  // of kernels; the first is drawn in ink
  const dashes = [[], [8, 4], [2, 3], [8, 3, 2, 3]];
  let charts = [];

  function draw(printing) {
    charts.forEach((c) => c.destroy());
    charts = [];
    const style = getComputedStyle(document.documentElement);
    const dark = !printing && matchMedia('(prefers-color-scheme: dark)').matches;
    const of = (name) => (printing ? {'--ink': '#000', '--faint': '#444', '--line': '#bbb'}[name] : style.getPropertyValue(name).trim());
    const hue = (i) => `hsl(${hues[i % hues.length]} 65% ${dark ? 65 : 40}%)`;
    const kernelColour = (i) => (kernelHues[i % kernelHues.length] === null ? of('--ink') : `hsl(${kernelHues[i % kernelHues.length]} 60% ${dark ? 70 : 35}%)`);
    Chart.defaults.color = of('--faint');
    Chart.defaults.borderColor = of('--line');
    Chart.defaults.animation = false;
    Chart.defaults.maintainAspectRatio = false;
    Chart.defaults.devicePixelRatio = 2;
    let points = 0;

    // Decades around everything that is drawn.
    const peak = Math.max(...data.pipes.map((p) => p.tflops));
    const all = data.kernels.flatMap((k) => k.points);
    const ridges = data.levels.map((l) => peak * 1e3 / l.gbs);
    const decade = (v, up) => 10 ** (up ? Math.ceil(Math.log10(v)) : Math.floor(Math.log10(v)));
    const low = decade(Math.min(0.1, ...all.map((p) => p.x)), false);
    const high = decade(Math.max(...ridges, ...all.map((p) => p.x)) * 2, true);
    const bottom = decade(Math.min(...all.map((p) => p.y), peak / 100), false);
    const decades = {autoSkip: false, maxRotation: 0, callback: (v) => (Math.abs(Math.log10(v) % 1) < 1e-9 ? String(Number(v.toPrecision(1))) : '')};
    const roofs = data.levels.map((l, i) => ({
      label: `${l.name} ${Math.round(l.gbs)} GB/s`, showLine: true, pointRadius: 0, borderWidth: 1.5, borderColor: hue(i),
      borderDash: dashes[i % 4], data: [{x: low, y: low * l.gbs / 1e3}, {x: peak * 1e3 / l.gbs, y: peak}]}));
    const flats = data.pipes.map((p) => ({
      label: `${p.name} ${p.tflops} TFLOP/s`, showLine: true, pointRadius: 0, borderWidth: 1.5, borderDash: p.tflops === peak ? [] : [6, 4], borderColor: of('--ink'),
      data: [{x: Math.min(...data.levels.map((l) => p.tflops * 1e3 / l.gbs)), y: p.tflops}, {x: high, y: p.tflops}]}));
    const shapes = ['circle', 'rectRot', 'triangle', 'rect', 'star', 'cross'];
    const marks = data.kernels.filter((k) => k.points.length !== 0).map((k, i) => ({
      label: k.name, pointRadius: 6, pointHoverRadius: 8, pointStyle: shapes[i % shapes.length],
      backgroundColor: kernelColour(i), borderColor: kernelColour(i), borderWidth: 1, data: k.points}));
    // Names of kernels and, while there is room, the level of each point; none over another.
    const names = {id: 'names', afterDatasetsDraw(chart) {
      const g = chart.ctx;
      const taken = [];
      const put = (text, x, y, offsets) => {
        const width = g.measureText(text).width;
        const left = Math.min(Math.max(x - width / 2, chart.chartArea.left), chart.chartArea.right - width);
        for (const offset of offsets) {
          const box = {left: left - 2, right: left + width + 2, top: y + offset - 10, bottom: y + offset + 3};
          if (taken.some((t) => t.left < box.right && box.left < t.right && t.top < box.bottom && box.top < t.bottom)) continue;
          taken.push(box);
          g.fillText(text, left, y + offset);
          return;
        }
      };
      g.save();
      const shown = chart.data.datasets.map((set, i) => ({set, points: chart.getDatasetMeta(i).data})).filter((k) => k.set.pointRadius !== 0);
      shown.forEach(({points}) => points.forEach((p) => taken.push({left: p.x - 6, right: p.x + 6, top: p.y - 6, bottom: p.y + 6})));
      g.font = '12px system-ui, sans-serif';
      shown.forEach(({set, points}) => {
        g.fillStyle = set.backgroundColor;
        if (points.length) put(set.label.slice(0, 40), points.at(-1).x, points.at(-1).y, [-11, -25, -39, 32, 46]);
      });
      g.font = '10px system-ui, sans-serif';
      g.fillStyle = of('--faint');
      if (marks.length <= 4) shown.forEach(({set, points}) => points.forEach((p, j) => put(set.data[j].level, p.x, p.y, [18, 30, 42, -11, -23])));
      g.restore();
    }};
    const stroke = (set) => `<line x1="0" y1="6" x2="36" y2="6" stroke="${set.borderColor}" stroke-width="2" stroke-dasharray="${set.borderDash.join(' ')}"/>`;
    const mark = {circle: '<circle cx="18" cy="6" r="5"/>', rectRot: '<path d="M18 0l6 6-6 6-6-6z"/>', triangle: '<path d="M18 0l6 11h-12z"/>', rect: '<path d="M13 1h10v10h-10z"/>',
      star: '<path d="M18 0v12M12 6h12M14 2l8 8M22 2l-8 8"/>', cross: '<path d="M18 0v12M12 6h12"/>'};
    const legend = document.getElementById('legend');
    legend.replaceChildren(...[...roofs, ...flats, ...marks].map((set) => {
      const item = document.createElement('li');
      item.innerHTML = `<svg width="36" height="12" fill="${set.backgroundColor}" stroke="${set.backgroundColor}" aria-hidden="true">${set.borderDash ? stroke(set) : mark[set.pointStyle]}</svg>`;
      item.append(set.label);  // as text: a kernel may be called anything
      return item;
    }));
    const roofline = new Chart('roofline', {type: 'scatter', data: {datasets: [...roofs, ...flats, ...marks]}, plugins: [names], options: {
      scales: {
        x: {type: 'logarithmic', min: low, max: high, ticks: decades, title: {display: true, text: 'FLOP per byte of the level'}},
        y: {type: 'logarithmic', min: bottom, max: decade(peak * 1.01, true), ticks: decades, title: {display: true, text: 'TFLOP/s'}}},
      plugins: {legend: {display: false}, tooltip: {callbacks: {label: (c) => {
        const p = c.raw;
        return p.level ? `${c.dataset.label}, ${p.level}: ${p.x.toPrecision(3)} FLOP/B, ${p.y.toPrecision(3)} TFLOP/s` : c.dataset.label;
      }}}}}});
    charts.push(roofline);
    document.body.dataset.roofs = roofs.length;
    marks.forEach((m) => { points += m.data.length; });

    const axes = {threads: 'threads per block', registers: 'registers per thread', shared: 'shared memory per block, KB'};
    data.kernels.forEach((k, i) => {
      for (const [resource, title] of Object.entries(axes)) {
        const scale = resource === 'shared' ? 1024 : 1;
        const curve = k.curves[resource].map((p) => ({x: p.x / scale, y: p.y})).sort((a, b) => a.x - b.x);
        const at = k.now[resource] / scale;
        // Threads: exact sizes. Registers and shared memory: a staircase, each step up to its value.
        const reached = resource === 'threads' ? curve.filter((p) => p.x <= at).at(-1) : curve.find((p) => p.x >= at);
        charts.push(new Chart(`${resource}-${i}`, {type: 'scatter', data: {datasets: [
          {data: curve, showLine: resource !== 'threads', stepped: 'after', pointRadius: resource === 'threads' ? 2.5 : 0, borderWidth: 1.5,
            borderColor: hue(0), backgroundColor: hue(0), clip: 6},
          {clip: 8, data: reached ? [{x: at, y: reached.y}] : [], pointRadius: 5, backgroundColor: hue(1), borderColor: of('--ink')}]},
          options: {scales: {x: {min: 0, title: {display: true, text: title}}, y: {min: 0, max: 100, title: {display: true, text: 'occupancy, %'}}},
            plugins: {legend: {display: false}}}}));
        points += reached ? 1 : 0;
      }
    });
    document.body.dataset.points = points;
  }

  draw(false);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(false));
  window.addEventListener('beforeprint', () => draw(true));
  window.addEventListener('afterprint', () => draw(false));
})();
