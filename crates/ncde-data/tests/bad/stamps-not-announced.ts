@problemName p
@timeStamps false
@dimensions 2
@classLabel true a b
@data
(0,1),(1,2):(0,3),(1,4):a
