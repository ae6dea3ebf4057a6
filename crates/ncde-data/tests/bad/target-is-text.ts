@problemName p
@targetLabel true
@data
1,2:0.5
1,2:high
